/*
 * Goal: whoever asks properly gets a channel, and every event written to it
 * is accounted for, also when its writer is killed; whoever does not is
 * refused and costs nobody anything.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define EVENTS 20000

static void
accounted(struct fixture *f, uint64_t *sum)
{
	struct profiler_stats s;

	profiler_stats(f->profiler, &s);
	*sum = s.events + s.lost + s.abandoned + s.rejected;
}

struct emitter {
	const char *socket;
	int index;
};

static void *
emitter_run(void *arg)
{
	struct emitter *e = arg;
	struct talechain tc;
	char name[16];
	uint64_t i;

	snprintf(name, sizeof(name), "worker-%d", e->index);
	assert_int_equal(talechain_open(&tc, e->socket, name, 8), 0);
	for (i = 0; i < EVENTS; i++)
		talechain_emit(&tc, TALECHAIN_APP_MARK, i, 0, 0, 0);
	talechain_close(&tc);
	return NULL;
}

/* Goal: many threads, rings far too small, and not one event unaccounted. */
TEST(test_threads)
{
	struct fixture *f = fixture_new();
	struct emitter e[THREADS];
	struct profiler_stats s;
	pthread_t t[THREADS];
	uint64_t sum;
	int i;

	fixture_start(f);
	for (i = 0; i < THREADS; i++) {
		e[i] = (struct emitter){f->socket, i};
		pthread_create(&t[i], NULL, emitter_run, &e[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	fixture_wait_closed(f, THREADS);
	accounted(f, &sum);
	assert_int_equal(sum, THREADS * EVENTS);
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.channels_opened, THREADS);
	assert_int_equal(s.rejected, 0);
	assert_int_equal(s.abandoned, 0);
	assert_true(s.events > 0);
	fixture_free(f);
}

/* Goal: events come out with their order, arguments and origin. */
TEST(test_contents)
{
	struct fixture *f = fixture_new();
	const struct timeline_slot *slot;
	struct talechain tc;
	unsigned i, n = 0;

	fixture_follow(f, getpid());
	fixture_wait_events(f, TALECHAIN_SERVER_START, 1);
	assert_int_equal(talechain_open(&tc, f->socket, "w", 12), 0);
	for (i = 0; i < 1000; i++)
		talechain_emit_at(
		    &tc, 1000 + i, TALECHAIN_APP_START, i, 2 * i, 3, i ^ 5);
	fixture_wait_events(f, TALECHAIN_APP_START, 1000);
	for (i = 0; i < f->slots; i++) {
		slot = &f->slot[i];
		if (slot->event.type != TALECHAIN_APP_START)
			continue;
		assert_int_equal(slot->event.ts, 1000 + n);
		assert_int_equal(slot->event.arg[0], n);
		assert_int_equal(slot->event.arg[1], 2 * n);
		assert_int_equal(slot->event.arg[3], n ^ 5);
		assert_int_equal(slot->event.pid, getpid());
		assert_int_equal(slot->event.tid, gettid());
		assert_int_equal(slot->server, 0);
		n++;
	}
	assert_int_equal(fixture_events(f, TALECHAIN_META_CHANNEL), 1);
	talechain_close(&tc);
	fixture_wait_events(f, TALECHAIN_META_CHANNEL, 2);
	fixture_free(f);
}

/* Goal: a writer killed in the middle of its work is retired, and what it
 * wrote is accounted for to the last event. */
TEST(test_killed)
{
	struct fixture *f = fixture_new();
	volatile uint64_t *count;
	struct talechain tc;
	uint64_t sum, begun = 0, done = 0;
	pid_t pid;
	int round;

	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(count != MAP_FAILED);
	fixture_start(f);
	for (round = 0; round < 5; round++) {
		count[0] = count[1] = 0;
		pid = fork();
		if (pid == 0) {
			if (talechain_open(&tc, f->socket, "victim", 10) < 0)
				_exit(1);
			for (;;) {
				count[0]++;
				talechain_emit(
				    &tc, TALECHAIN_APP_MARK, 0, 0, 0, 0);
				count[1]++;
			}
		}
		while (count[1] < 5000)
			sched_yield();
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		begun += count[0];
		done += count[1];
		fixture_wait_closed(f, (unsigned)round + 1);
		accounted(f, &sum);
		assert_in_range(sum, done, begun);
	}
	fixture_fini(f);
	munmap((void *)(uintptr_t)count, 4096);
	free(f);
}

/* Connect, say something, and return the answer's first line. */
static int
ask(const struct fixture *f, const char *text, char answer[256])
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	ssize_t n;
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, f->socket);
	assert_int_equal(connect(s, (void *)&a, sizeof(a)), 0);
	assert_int_equal(
	    send(s, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	n = recv(s, answer, 255, 0);
	answer[n > 0 ? n : 0] = '\0';
	return s;
}

/* Goal: each way to ask wrongly gets its reason, and is counted. */
TEST(test_refused)
{
	static const char *const bad[][2] = {
	    {"hello\n", "NO not a request of protocol version 1\n"},
	    {"TALECHAIN 1 1 99 1 x\n", "NO bad size, expected 6 to 20\n"},
	    {"TALECHAIN 1 3 8 1 x\n", "NO this kind is tailor's own\n"},
	    {"TALECHAIN 1 1 8 1 x\ny", "NO bytes after the request\n"},
	    {"TALECHAIN 1 1 8", "NO timed out before a request\n"},
	};
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct talechain tc[3];
	char answer[256];
	unsigned i;

	f->options.channels_max = 2;
	fixture_start(f);
	for (i = 0; i < 5; i++) {
		close(ask(f, bad[i][0], answer));
		assert_string_equal(answer, bad[i][1]);
	}
	assert_int_equal(talechain_open(&tc[0], f->socket, "a", 6), 0);
	assert_int_equal(talechain_open(&tc[1], f->socket, "b", 6), 0);
	assert_int_equal(talechain_open(&tc[2], f->socket, "c", 6), -EPERM);
	/* Counters are shown at the end of a turn, after the answer. */
	do
		profiler_stats(f->profiler, &s);
	while (s.channels_refused < 6);
	assert_int_equal(s.channels, 2);
	assert_int_equal(s.channels_opened, 2);
	assert_int_equal(s.channels_refused, 6);
	talechain_close(&tc[0]);
	fixture_wait_channels(f, 1);
	assert_int_equal(talechain_open(&tc[2], f->socket, "c", 6), 0);
	talechain_close(&tc[1]);
	talechain_close(&tc[2]);
	fixture_free(f);
}

/* Open large channels; how many got no answer within the second that a client
 * waits, as happens on a busy machine. */
static unsigned
open_big(struct fixture *f, struct talechain *tc, int count, unsigned *opened)
{
	unsigned late = 0;

	*opened = 0;
	for (int i = 0; i < count; i++) {
		int err = talechain_open(&tc[i], f->socket, "big", 20);

		*opened += err == 0;
		late += err == -EAGAIN;
	}
	return late;
}

/* Goal: rings beyond the limit of memory are refused, and closing one gives its
 * memory back. */
TEST(test_memory_limit)
{
	struct fixture *f = fixture_new();
	struct talechain tc[8];
	unsigned late, opened, turns = 0;

	fixture_start(f);
	do {
		late = open_big(f, tc, 8, &opened);
		for (int i = 0; i < 8; i++)
			talechain_close(&tc[i]);
		fixture_wait_channels(f, 0);
	} while ((late > 0 || opened != 3) && ++turns < 20);
	assert_int_equal(opened, 3); /* of 64 MiB and a little, in 256 MiB */
	for (opened = 0; opened == 0 && turns < 40; turns++) {
		(void)open_big(f, tc, 1, &opened);
		talechain_close(&tc[0]);
	}
	assert_int_equal(opened, 1);
	fixture_free(f);
}

/* Goal: another user's process is refused, whatever the file's mode. */
TEST(test_other_user)
{
	struct fixture *f;
	struct talechain tc;
	char run[96];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		unit_skip("only root can become another user");
	f = fixture_new();
	fixture_start(f);
	snprintf(run, sizeof(run), "%s/run", f->directory);
	assert_int_equal(chmod(f->directory, 0755), 0);
	assert_int_equal(chmod(run, 0755), 0);
	assert_int_equal(chmod(f->socket, 0666), 0);
	pid = fork();
	if (pid == 0) {
		if (setuid(65534) < 0)
			_exit(1);
		_exit(talechain_open(&tc, f->socket, "x", 8) == -EPERM ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fixture_free(f);
}

/* Goal: the path in the answer opens the same memory, which cannot be
 * resized; so do languages without SCM_RIGHTS. */
TEST(test_by_path)
{
	struct fixture *f = fixture_new();
	struct talechain_channel *map;
	char answer[256], path[128];
	struct talechain tc;
	size_t bytes;
	int s, fd;

	fixture_start(f);
	s = ask(f, "TALECHAIN 1 1 7 5 by-path\n", answer);
	assert_int_equal(sscanf(answer, "OK %127s %zu", path, &bytes), 2);
	assert_int_equal(bytes, talechain_bytes(7));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	assert_string_equal(map->name, "by-path");
	assert_int_equal(map->writer_tid, 5);
	assert_int_equal(map->writer_pid, getpid());
	talechain_attach(&tc, map, 7);
	talechain_emit(&tc, TALECHAIN_APP_FINISH, 1, 2, 3, 0);
	fixture_wait_events(f, TALECHAIN_APP_FINISH, 1);
	munmap(map, bytes);
	close(s);
	fixture_wait_closed(f, 1);
	fixture_free(f);
}

/* Goal: events that an application has no business to tell are rejected. */
TEST(test_forged)
{
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct talechain tc;

	fixture_start(f);
	assert_int_equal(talechain_open(&tc, f->socket, "liar", 8), 0);
	talechain_emit(&tc, TALECHAIN_JVM_GC_BEGIN, 0, 0, 0, 0);
	talechain_emit(&tc, TALECHAIN_SERVER_EXIT, 0, 0, 0, 0);
	talechain_emit(&tc, TALECHAIN_META_LOST, 0, 0, 0, 0);
	talechain_emit(&tc, TALECHAIN_PROXY_FINISH, 0, 0, 0, 0);
	talechain_emit(&tc, (enum talechain_type)0, 0, 0, 0, 0);
	talechain_emit_at(&tc, 0, TALECHAIN_APP_MARK, 0, 0, 0, 0);
	talechain_emit_at(&tc, talechain_now() + 3600000000000,
	    TALECHAIN_APP_MARK, 0, 0, 0, 0);
	/* An unknown event of the right kind is somebody's newer version. */
	talechain_emit(&tc, (enum talechain_type)0x2fff, 7, 0, 0, 0);
	fixture_wait_events(f, 0x2fff, 1);
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.rejected, 7);
	assert_int_equal(s.events, 1);
	assert_int_equal(s.hazards, 0);
	talechain_close(&tc);
	fixture_free(f);
}

/* Goal: a writer that scribbles over its whole channel harms only itself. */
TEST(test_scribbler)
{
	struct fixture *f = fixture_new();
	struct talechain tc, good;
	unsigned char *byte;
	size_t i, k;

	srand(11);
	fixture_start(f);
	assert_int_equal(talechain_open(&good, f->socket, "good", 8), 0);
	for (k = 0; k < 5; k++) {
		assert_int_equal(talechain_open_kind(&tc, f->socket,
				     TALECHAIN_KIND_JVM, "bad", 6),
		    0);
		byte = (unsigned char *)tc.channel;
		for (i = 0; i < 200000; i++)
			__atomic_store_n(&byte[(size_t)rand() % tc.bytes],
			    (unsigned char)rand(), __ATOMIC_RELAXED);
		talechain_emit(&good, TALECHAIN_APP_MARK, k, 0, 0, 0);
		talechain_close(&tc);
	}
	fixture_wait_channels(f, 1);
	fixture_wait_events(f, TALECHAIN_APP_MARK, 5);
	talechain_close(&good);
	fixture_free(f);
}

/* Goal: a socket file that no process listens on is replaced; one that is in
 * use is left to its owner, and there is no second profiler. */
TEST(test_socket_file)
{
	struct fixture *f = fixture_new();
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct profiler *second;
	struct talechain tc;
	char run[96];
	int s;

	snprintf(run, sizeof(run), "%s/run", f->directory);
	assert_int_equal(mkdir(run, 0750), 0);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(a.sun_path, f->socket);
	assert_int_equal(bind(s, (void *)&a, sizeof(a)), 0);
	close(s); /* the file stays: nobody listens */
	fixture_start(f);
	assert_int_equal(profiler_new(&second, &f->options), 0);
	assert_int_equal(profiler_start(second, f->timeline), -EADDRINUSE);
	profiler_free(&second);
	assert_int_equal(talechain_open(&tc, f->socket, "x", 6), 0);
	talechain_close(&tc);
	fixture_free(f);
}

/* Goal: a channel inside this process is polled like any other. */
TEST(test_inside)
{
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct talechain tc;
	int i;

	assert_int_equal(profiler_new(&f->profiler, &f->options), 0);
	assert_int_equal(profiler_channel(f->profiler, "proxy",
			     TALECHAIN_KIND_PROXY, 5, &tc),
	    -EINVAL);
	assert_int_equal(profiler_channel(f->profiler, "proxy",
			     TALECHAIN_KIND_PROXY, 10, &tc),
	    0);
	assert_int_equal(profiler_start(f->profiler, f->timeline), 0);
	assert_int_equal(profiler_channel(f->profiler, "late",
			     TALECHAIN_KIND_PROXY, 10, &tc),
	    -EINVAL);
	for (i = 0; i < 100; i++)
		talechain_emit(&tc, TALECHAIN_PROXY_RECEIVE, 1, 2, 3, 4);
	fixture_wait_events(f, TALECHAIN_PROXY_RECEIVE, 100);
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.channels, 1);
	fixture_free(f);
}
