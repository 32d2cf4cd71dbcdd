/* Goal: the end of a mere thread is no death of its process.  How early a death
 * is known: long_kill.c. */
#include "children.h"
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Goal: a thread that ends by itself does not end its process. */
TEST(test_thread_ends_alone)
{
	struct fixture *f = fixture_new();
	int end;
	pid_t pid = doomed_new(&end, 0);
	unsigned threads = doomed_threads(pid);

	fixture_follow(f, pid);
	fixture_wait_events(f, TALECHAIN_SERVER_START, 1);
	close(end);
	doomed_wait(pid, threads - DOOMED_THREADS);
	fixture_wait_sweeps(f);
	assert_int_equal(fixture_count(f, HAZARD_EXIT, true), 0);
	kill(pid, SIGKILL);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	waitpid(pid, NULL, 0);
	fixture_free(f);
}
