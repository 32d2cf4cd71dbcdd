/*
 * test_kernel_limits.c: what the kernel's events must not do: speak of others,
 * lose events without counting them, need a privilege after the start.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "fixture.h"
#include "kernel_events.h"
#include "base/permission.h"
#include "profiler/privileges.h"
#include "profiler/kernel/programs.h"
#include "profiler/processes/proc.h"

#define STRESS_CALLS 100000
#define STRESS_THREADS 4

/* --- others --------------------------------------------------------------- */

/* A process of nobody that does a bit of everything. */
static void
busy_stranger(void)
{
	int a[2], b[2], i;
	char c = 0;
	pid_t pid;

	if (pipe(a) < 0 || pipe(b) < 0)
		_exit(1);
	pid = fork();
	for (i = 0; i < 500; i++) {
		int *in = pid == 0 ? a : b, *out = pid == 0 ? b : a;
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*page = 1;
		munmap(page, 4096);
		if (pid != 0 && write(out[1], &c, 1) != 1)
			_exit(1);
		if (read(in[0], &c, 1) != 1)
			_exit(1);
		if (pid == 0 && write(out[1], &c, 1) != 1)
			_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	_exit(0);
}

/* Whether a thread of ours waited for a CPU at an event. */
static bool
is_within_wait(const struct recording *r, unsigned i)
{
	uint64_t at = r->event[i].ts;
	const struct talechain_event *e;

	for (i++; i < r->count; i++) {
		e = &r->event[i];
		if (e->type == TALECHAIN_SCHEDULE &&
		    high(e->arg[0]) == (uint32_t)getpid() &&
		    e->ts - schedule_wait_ns(e) <= at)
			return true;
	}
	return false;
}

/* Whether an event has anything to do with this process. */
static bool
is_ours(const struct recording *r, unsigned i)
{
	const struct talechain_event *e = &r->event[i];
	uint32_t me = (uint32_t)getpid();

	switch (e->type) {
	case TALECHAIN_WAKEUP:
		return e->arg[1] == me;
	case TALECHAIN_SCHEDULE:
		return e->pid == me || high(e->arg[0]) == me ||
		       is_within_wait(r, i);
	case TALECHAIN_THREAD:
		return true; /* named in one of the others */
	case TALECHAIN_SOFTIRQ:
		return e->pid == me || e->arg[1] >= KERNEL_SLOW_NS ||
		       e->arg[0] == KERNEL_NET_RX;
	case TALECHAIN_IDLE:
		return e->pid == 0; /* told when one of ours runs next */
	default:
		return e->pid == me;
	}
}

/* Goal: a process that is not watched is not told of, whatever it does, while
 * the same things done by this one are. */
TEST(test_others)
{
	struct recording r;
	unsigned i;
	pid_t pid;
	int status;

	recording_init(&r);
	r.options.profile = PROFILER_KERNEL_FULL;
	r.options.syscalls = true;
	recording_open(&r);
	recording_begin(&r);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		busy_stranger();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	recording_end(&r);
	assert_true(r.count > 0);
	for (i = 0; i < r.count; i++)
		if (!is_ours(&r, i))
			fail_msg("event %#x of process %u", r.event[i].type,
			    r.event[i].pid);
	recording_close(&r);
}

struct call {
	uint64_t number, first;
};

static bool
is_call(const struct talechain_event *e, const void *arg)
{
	const struct call *c = arg;

	return e->arg[0] >> 48 == c->number && e->arg[1] == c->first;
}

/* Goal: system calls are told with their number, length and parameters when
 * asked for, and not at all otherwise. */
TEST(test_calls)
{
	struct timespec nap = {.tv_nsec = 1000000};
	unsigned asked;

	for (asked = 0; asked < 2; asked++) {
		struct call nanosleeps = {SYS_clock_nanosleep, CLOCK_MONOTONIC};
		struct recording r;
		int i;

		recording_init(&r);
		r.options.syscalls = asked;
		recording_open(&r);
		assert_int_equal(r.state[PROFILER_SIGNAL_SYSCALL].on, asked);
		recording_begin(&r);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		recording_end(&r);
		i = recording_find(
		    &r, 0, TALECHAIN_SYSCALL, is_call, &nanosleeps);
		assert_int_equal(i >= 0, asked);
		if (asked) {
			assert_int_equal(r.event[i].arg[2], 0);
			assert_int_equal(r.event[i].arg[3], (uintptr_t)&nap);
			assert_true(
			    (r.event[i].arg[0] & 0xffffffffffff) >= 1000000);
		}
		recording_close(&r);
	}
}

/* --- losses --------------------------------------------------------------- */

static void *
hammer(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < STRESS_CALLS; i++)
		syscall(SYS_getppid);
	return NULL;
}

static void
check_call(const struct talechain_event *e)
{
	if (e->type != TALECHAIN_SYSCALL || e->arg[0] >> 48 != SYS_getppid)
		return;
	assert_int_equal(e->version, 1);
	assert_int_equal(e->pid, getpid());
	/* It may have waited for a CPU meanwhile. */
	assert_true((e->arg[0] & 0xffffffffffff) < 600 * (uint64_t)NS_PER_S);
}

/* Goal: at as many events a second as can be made, into rings far too small,
 * every event is taken, lost or abandoned, none twice, none torn. */
TEST(test_burst)
{
	pthread_t thread[STRESS_THREADS];
	uint64_t missed;
	uint64_t written = 0, seen = 0, calls;
	struct recording r;
	unsigned i, working = STRESS_THREADS;

	recording_init(&r);
	r.options.slot_log2 = 10;
	r.options.syscalls = true;
	recording_open(&r);
	for (i = 0; i < STRESS_THREADS; i++)
		assert_int_equal(
		    pthread_create(&thread[i], NULL, hammer, NULL), 0);
	while (working > 0) {
		for (i = 0; i < kernel_channels(r.kernel); i++) {
			struct channel *c = kernel_channel(r.kernel, i);
			struct talechain_event e;
			uint64_t skipped;
			unsigned turn;

			for (turn = 0; turn < 64; turn++)
				if (talechain_take(&c->cursor, &e, &skipped,
					instant_now()) == TALECHAIN_TAKE_OK)
					check_call(&e);
		}
		if (pthread_tryjoin_np(thread[working - 1], NULL) == 0)
			working--;
	}
	kernel_count(r.kernel);
	missed = kernel_missed(r.kernel);
	/* Nothing is written any more but by this thread, which stops. */
	kernel_unwatch(r.kernel, 0);
	kernel_ignore_thread(r.kernel, gettid());
	for (i = 0; i < kernel_channels(r.kernel); i++) {
		struct channel *c = kernel_channel(r.kernel, i);
		struct talechain_event e;
		uint64_t skipped, head = c->memory->head;

		while (talechain_take(&c->cursor, &e, &skipped,
			   instant_now()) != TALECHAIN_TAKE_NONE)
			;
		talechain_cursor_end(&c->cursor);
		/* A softirq of anybody may still have come in between. */
		assert_true(c->cursor.next >= head);
		written += c->cursor.next;
		seen += c->cursor.taken + c->cursor.lost + c->cursor.abandoned;
		assert_int_equal(c->cursor.rejected, 0);
	}
	calls = (uint64_t)STRESS_CALLS * STRESS_THREADS;
	assert_int_equal(seen, written);
	assert_true(written + missed >= calls);
	assert_int_equal(kernel_tally(r.kernel)->ringless, 0);
	assert_int_equal(kernel_tally(r.kernel)->crowded, 0);
	recording_close(&r);
}

/* A child of this number, or -1. */
static pid_t
child_numbered(pid_t number)
{
	struct clone_args args = {.exit_signal = SIGCHLD,
	    .set_tid = (uint64_t)(uintptr_t)&number,
	    .set_tid_size = 1};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return (pid_t)pid;
}

/* Goal: what is read of a process after its end is still its server's, until
 * another process has its number; of one that lives and is no server any more
 * nothing is. */
TEST(test_owner)
{
	struct talechain_event e = {.type = TALECHAIN_EXIT};
	const struct kernel_owners *owners;
	struct recording r;
	pid_t pid, again;

	recording_open_usual(&r);
	owners = kernel_channel(r.kernel, 0)->owners;
	pid = child_new();
	e.pid = (uint32_t)pid;
	assert_int_equal(kernel_owner(owners, &e), -1);
	assert_int_equal(kernel_watch(r.kernel, 1, pid, false), 0);
	assert_int_equal(kernel_owner(owners, &e), 1);
	kernel_unwatch(r.kernel, 1);
	assert_int_equal(kernel_owner(owners, &e), -1);
	assert_false(kernel_watches(r.kernel, pid));
	assert_int_equal(kernel_watch(r.kernel, 0, pid, false), 0);
	assert_int_equal(kernel_watch(r.kernel, 1, pid, false), 0);
	assert_int_equal(kernel_owner(owners, &e), 0);
	child_kill(pid);
	kernel_unwatch(r.kernel, 0);
	assert_int_equal(kernel_owner(owners, &e), 0);
	again = child_numbered(pid);
	if (again > 0) {
		assert_int_equal(again, pid);
		assert_int_equal(kernel_owner(owners, &e), -1);
		assert_false(kernel_watches(r.kernel, pid));
		child_kill(again);
	}
	recording_close(&r);
}

/* --- unwatched ------------------------------------------------------------ */

/* The descriptor of a map of the programs, which this process holds. */
static int
map_named(const char *name)
{
	struct bpf_map_info info;
	uint32_t size;

	for (int fd = 3; fd < 1024; fd++) {
		size = sizeof(info);
		memset(&info, 0, sizeof(info));
		if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strcmp(info.name, name) == 0 && info.key_size == 4)
			return fd;
	}
	fail_msg("no map %s", name);
	return -1;
}

/* How many of these threads have state. */
static unsigned
states_of(int threads, const pid_t *tid, int n)
{
	char state[256];
	unsigned found = 0;

	for (int i = 0; i < n; i++)
		found += bpf_map_lookup_elem(threads, &tid[i], state) == 0;
	return found;
}

/* Goal: of threads that end after their server was unwatched no state is left:
 * it would take up the room of others for ever. */
TEST(test_unwatched_end)
{
	struct instant limit = instant_plus(instant_now(), 120 * NS_PER_S);
	pid_t tid[DOOMED_THREADS + 4], pid; /* a sanitizer may have some */
	struct recording r;
	int end, n, threads;

	recording_open_usual(&r);
	threads = map_named("threads");
	pid = doomed_new(&end, 0);
	n = proc_threads(pid, tid, DOOMED_THREADS + 4);
	assert_true(n >= DOOMED_THREADS + 1);
	assert_int_equal(kernel_watch(r.kernel, 0, pid, false), 0);
	while (states_of(threads, tid, n) < (unsigned)n) {
		assert_true(instant_before(instant_now(), limit));
		kill(pid, SIGSTOP);
		usleep(1000);
		kill(pid, SIGCONT);
		usleep(1000);
	}
	kernel_unwatch(r.kernel, 0);
	close(end);
	child_kill(pid);
	assert_int_equal(states_of(threads, tid, n), 0);
	recording_close(&r);
}

#define ROUNDS 500

/* On one CPU: once a byte comes, compute for 20 ms; then alternate with a child
 * of its own, ROUNDS times. */
static void
alternate(unsigned cpu, int begin)
{
	int a[2], b[2];
	pid_t pid;
	char c;

	run_on(cpu);
	if (pipe(a) < 0 || pipe(b) < 0 || (pid = fork()) < 0)
		_exit(1);
	if (pid == 0) {
		for (int i = 0; i < ROUNDS; i++)
			if (read(a[0], &c, 1) != 1 || write(b[1], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	if (read(begin, &c, 1) != 1)
		_exit(1);
	spin(20 * NS_PER_MS);
	for (int i = 0; i < ROUNDS; i++)
		if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
			_exit(1);
	waitpid(pid, NULL, 0);
	_exit(0);
}

/* Goal: a thread that waited for a CPU when it was unwatched is not counted
 * there for ever: switches of others would all be reported. */
TEST(test_unwatched_waits)
{
	struct sched_param first = {.sched_priority = 1}, usual = {0};
	const struct talechain_event *e;
	unsigned cpu[2], reported = 0;
	struct recording r;
	cpu_set_t all;
	int begin[2];
	pid_t pid;

	if (usable_cpus(cpu, 2) < 2)
		unit_skip("needs two CPUs");
	sched_getaffinity(0, sizeof(all), &all);
	recording_init(&r);
	r.options.profile = PROFILER_KERNEL_FULL;
	recording_open(&r);
	assert_int_equal(pipe(begin), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		alternate(cpu[0], begin[0]);
	usleep(50000);
	/* It is woken while it cannot get its CPU. */
	run_on(cpu[0]);
	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) {
		sched_setaffinity(0, sizeof(all), &all);
		child_kill(pid);
		recording_close(&r);
		unit_skip("no real-time priority");
	}
	assert_int_equal(kernel_watch(r.kernel, 0, pid, false), 0);
	assert_int_equal(write(begin[1], "", 1), 1);
	kernel_unwatch(r.kernel, 0);
	run_on(cpu[1]);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	usleep(5000);
	recording_begin(&r);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	recording_end(&r);
	for (unsigned i = 0; i < r.count; i++) {
		e = &r.event[i];
		reported += e->type == TALECHAIN_SCHEDULE && e->cpu == cpu[0] &&
			    e->pid != (uint32_t)getpid() &&
			    high(e->arg[0]) != (uint32_t)getpid() &&
			    !is_within_wait(&r, i);
	}
	assert_int_equal(reported, 0);
	sched_setaffinity(0, sizeof(all), &all);
	close(begin[0]);
	close(begin[1]);
	recording_close(&r);
}

/* Goal: what was stored of a thread before its server was unwatched is not used
 * once it is watched again: it may have run meanwhile. */
TEST(test_watched_again)
{
	struct sched_param first = {.sched_priority = 1}, usual = {0};
	const struct talechain_event *e;
	struct instant again;
	struct recording r;
	unsigned cpu[1];
	cpu_set_t all;
	int begin[2];
	pid_t pid;

	sched_getaffinity(0, sizeof(all), &all);
	assert_int_equal(usable_cpus(cpu, 1), 1);
	recording_open_usual(&r);
	assert_int_equal(pipe(begin), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		alternate(cpu[0], begin[0]);
	usleep(50000);
	run_on(cpu[0]);
	if (sched_setscheduler(0, SCHED_FIFO, &first) < 0) {
		sched_setaffinity(0, sizeof(all), &all);
		child_kill(pid);
		recording_close(&r);
		unit_skip("no real-time priority");
	}
	assert_int_equal(kernel_watch(r.kernel, 0, pid, false), 0);
	assert_int_equal(write(begin[1], "", 1), 1); /* it waits */
	kernel_unwatch(r.kernel, 0);
	usleep(10000); /* it computes, until it is preempted here */
	recording_begin(&r);
	again = instant_now();
	assert_int_equal(kernel_watch(r.kernel, 0, pid, false), 0);
	usleep(1000);
	recording_end(&r);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	for (unsigned i = 0; i < r.count; i++) {
		e = &r.event[i];
		if (e->type == TALECHAIN_SCHEDULE &&
		    high(e->arg[0]) == (uint32_t)pid)
			assert_true(schedule_wait_ns(e) <= e->ts - again.ns);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	sched_setaffinity(0, sizeof(all), &all);
	close(begin[0]);
	close(begin[1]);
	recording_close(&r);
}

/* --- privileges ----------------------------------------------------------- */

/* Run in a child that may do whatever it likes to itself. */
static int
in_child(int (*what)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static uint64_t
capabilities(void)
{
	struct permission p;

	permission_read(&p);
	return p.effective;
}

static int
without_capabilities(void)
{
	struct profiler_signal_state state[PROFILER_SIGNALS];
	struct kernel_options o = {
	    .profile = PROFILER_KERNEL_LITE, .slot_log2 = 6};
	struct kernel *k;
	unsigned i;

	if (capability_keep(0) < 0 || capabilities() != 0)
		return 1;
	if (kernel_new(&k, &o, state) != -EPERM || k != NULL)
		return 2;
	for (i = 0; i < PROFILER_SIGNALS; i++)
		if (state[i].on || state[i].why[0] == '\0')
			return 3;
	return strstr(state[0].why, "CAP_BPF") != NULL ? 0 : 4;
}

/* Goal: without privileges it says so for every signal, and nothing else. */
TEST(test_unprivileged)
{
	assert_int_equal(in_child(without_capabilities), 0);
}

/* With no capability left: are events still told, can a server be followed? */
static int
after_dropping(void)
{
	struct recording r;
	uint32_t child;
	int go[2], status, i;
	pid_t pid;

	recording_init(&r);
	if (kernel_new(&r.kernel, &r.options, r.state) < 0)
		return 77;
	r.event = calloc(RECORDING_MAX, sizeof(*r.event));
	if (r.event == NULL || capability_keep(0) < 0 || capabilities() != 0)
		return 1;
	if (pipe(go) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		char c;

		close(go[1]);
		_exit(read(go[0], &c, 1) == 1 ? 5 : 6);
	}
	kernel_watch(r.kernel, 0, pid, false);
	recording_begin(&r);
	if (write(go[1], "x", 1) != 1 || waitpid(pid, &status, 0) != pid)
		return 1;
	recording_end(&r);
	child = (uint32_t)pid;
	for (i = 0; i < (int)r.count; i++)
		if (r.event[i].type == TALECHAIN_EXIT &&
		    r.event[i].pid == child && r.event[i].arg[0] == 5 << 8)
			break;
	if (i == (int)r.count)
		return 2;
	kernel_count(r.kernel);
	recording_close(&r);
	return 0;
}

/* Goal: once attached nothing needs a privilege: neither events nor following
 * a server that was started again. */
TEST(test_dropped)
{
	int result = in_child(after_dropping);

	if (result == 77)
		unit_skip("nothing can be attached");
	assert_int_equal(result, 0);
}

/* Goal: a number of slots that no channel has is refused. */
TEST(test_slots)
{
	static const unsigned wrong[] = {0, 5, 21, 64};
	struct profiler_signal_state states[PROFILER_SIGNALS];
	struct kernel *k;
	unsigned i;

	for (i = 0; i < 4; i++) {
		struct kernel_options o = {
		    .profile = PROFILER_KERNEL_LITE, .slot_log2 = wrong[i]};

		assert_int_equal(kernel_new(&k, &o, states), -EINVAL);
		assert_null(k);
		assert_false(states[0].on);
	}
}

/* Goal: programs that the kernel refuses switch off the signals that need
 * them, with the reason, and no others. */
TEST(test_refused)
{
	struct profiler_signal_state states[PROFILER_SIGNALS];
	/* Slots far outside the rings: whoever emits is refused. */
	struct kernel_config config = {.slot_mask = (1 << 20) - 1};
	struct kernel_options o = {
	    .profile = PROFILER_KERNEL_LITE, .slot_log2 = 6};
	struct bpf_object *object = NULL;
	struct permission permission;
	unsigned i;
	int err;

	permission_read(&permission);
	if (!permission_to_trace(&permission))
		unit_skip("we may not trace");
	for (i = 0; i < PROFILER_SIGNALS; i++)
		states[i] = (struct profiler_signal_state){.on = true};
	err = programs_load(&object, &config, &o, 1, states);
	assert_int_equal(err, 0);
	for (i = 0; i < PROFILER_SIGNALS; i++) {
		/* Interrupts only leave a mark. */
		assert_int_equal(states[i].on, i == PROFILER_SIGNAL_INTERRUPT ||
						   i == PROFILER_SIGNAL_IDLE);
		assert_int_equal(states[i].why[0] == '\0', states[i].on);
	}
	bpf_object__close(object);
}

/* --- through the observer ------------------------------------------------- */

/* Goal: in the stream a server's events carry its number, ours none; nothing
 * of the observer's own naps is there. */
TEST(test_stream)
{
	struct profiler_signal_state signal[PROFILER_SIGNALS];
	struct fixture f;
	unsigned i, servers = 0;
	int go[2], status;
	pid_t pid;

	fixture_init(&f);
	f.options.kernel = PROFILER_KERNEL_LITE;
	f.options.kernel_slot_log2 = 13;
	fixture_start(&f);
	if (!profiler_signals(f.profiler, signal)) {
		fixture_fini(&f);
		unit_skip("%s", signal[0].why);
	}
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char c;

		close(go[1]);
		_exit(read(go[0], &c, 1) == 1 ? 0 : 1);
	}
	profiler_server_process(f.profiler, 0, pid);
	fixture_wait_events(&f, TALECHAIN_SERVER_START, 1);
	fixture_wait_sweeps(&f);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fixture_wait_events(&f, TALECHAIN_EXIT, 1);
	for (i = 0; i < f.slots; i++) {
		const struct timeline_slot *s = &f.slot[i];

		if (s->event.type >> 12 != 0)
			continue;
		if (s->event.type == TALECHAIN_EXIT) {
			assert_int_equal(s->event.pid, pid);
			assert_int_equal(s->server, 0);
		}
		servers += s->server == 0;
		if (s->server == 0 && s->event.type == TALECHAIN_WAKEUP)
			assert_true(s->event.arg[1] == (uint64_t)pid ||
				    s->event.pid == (uint32_t)pid);
	}
	assert_true(servers >= 2);
	close(go[0]);
	close(go[1]);
	fixture_fini(&f);
}

/* --- attaching ------------------------------------------------------------ */

/* When a tracepoint's program is attached: its place in the order. */
static unsigned
attached_as(const char *target)
{
	unsigned i;

	for (i = 0; i < programs_count; i++)
		if (programs[i].target != NULL &&
		    strcmp(programs[i].target, target) == 0)
			return i;
	fail_msg("no program for %s", target);
	return 0;
}

/* Goal: a mark that an interrupt leaves when it begins is cleared when it
 * ends, also if that is while the programs are being attached: else a wakeup
 * by a task is told as the interrupt's until the CPU's next one. */
TEST(test_marks)
{
	static const char *const pair[][2] = {
	    {"irq_handler_exit", "irq_handler_entry"},
	    {"local_timer_exit", "local_timer_entry"},
	    {"softirq_exit", "softirq_entry"},
	};
	unsigned i;

	for (i = 0; i < sizeof(pair) / sizeof(pair[0]); i++)
		assert_true(attached_as(pair[i][0]) < attached_as(pair[i][1]));
}
