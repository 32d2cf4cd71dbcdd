/*
 * test_kernel.c: threads and memory of this process, as the kernel tells of
 * them: who woke whom, who was preempted by whom, page faults, exec and exit.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "kernel_events.h"

#define ROUNDS 200
#define HUGE_BYTES ((size_t)2 << 20)
#define PAGES 64
#define PREEMPTION_TRIES 20
#define THROTTLE_TRIES 200 /* 50 s */

/* --- a thread at the other end of two pipes ------------------------------- */

struct partner {
	pthread_t thread;
	int in[2], out[2];
	unsigned cpu;
	int priority;	 /* of SCHED_FIFO; 0: an ordinary thread */
	bool privileged; /* it got that priority */
	int64_t spin_ns; /* works so long before it answers */
	uint32_t tid;
};

static void *
partner_run(void *arg)
{
	struct partner *p = arg;
	struct sched_param param = {.sched_priority = p->priority};
	char c = 0;

	run_on(p->cpu);
	p->tid = (uint32_t)gettid();
	p->privileged =
	    p->priority > 0 && sched_setscheduler(0, SCHED_FIFO, &param) == 0;
	if (write(p->out[1], &c, 1) != 1)
		return NULL;
	while (read(p->in[0], &c, 1) == 1) {
		spin(p->spin_ns);
		if (write(p->out[1], &c, 1) != 1)
			break;
	}
	return NULL;
}

static void
partner_call(struct partner *p)
{
	char c = 0;

	assert_int_equal(write(p->in[1], &c, 1), 1);
}

static void
partner_answer(struct partner *p)
{
	char c;

	assert_int_equal(read(p->out[0], &c, 1), 1);
}

/* Until it waits for a call, so that a call has to wake it. */
static void
partner_await(const struct partner *p)
{
	char path[64], text[256], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", p->tid);
	while (state != 'S') {
		FILE *f = fopen(path, "re");

		assert_non_null(f);
		assert_non_null(fgets(text, sizeof(text), f));
		fclose(f);
		state = strrchr(text, ')')[2];
		if (state != 'S')
			sched_yield();
	}
}

static void
partner_start(struct partner *p)
{
	assert_int_equal(pipe(p->in), 0);
	assert_int_equal(pipe(p->out), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, partner_run, p), 0);
	partner_answer(p);
}

static void
partner_stop(struct partner *p)
{
	close(p->in[1]);
	pthread_join(p->thread, NULL);
	close(p->in[0]);
	close(p->out[0]);
	close(p->out[1]);
}

/* --- wakeups -------------------------------------------------------------- */

static bool
is_for(const struct talechain_event *e, const void *arg)
{
	return low(e->arg[0]) == *(const uint32_t *)arg;
}

static bool
is_named(const struct talechain_event *e, const void *arg)
{
	char name[17] = "", mine[17] = "";

	memcpy(name, &e->arg[2], 16);
	prctl(PR_GET_NAME, mine); /* new threads inherit it */
	return is_for(e, arg) && strcmp(name, mine) == 0;
}

/* Goal: a sleeper on another CPU is told with its true waker, each time. */
TEST(test_waker)
{
	struct recording r;
	struct partner p = {0};
	unsigned cpu[2], i, waker = 0, scheduled = 0;
	uint32_t me = (uint32_t)gettid();
	struct instant begin;

	if (usable_cpus(cpu, 2) < 2)
		unit_skip("there is one CPU only");
	recording_open_usual(&r);
	run_on(cpu[0]);
	p.cpu = cpu[1];
	recording_begin(&r);
	partner_start(&p);
	begin = instant_now();
	for (i = 0; i < ROUNDS; i++) {
		partner_await(&p);
		partner_call(&p);
		partner_answer(&p);
	}
	recording_end(&r);
	partner_stop(&p);
	for (i = 0; i < r.count; i++) {
		const struct talechain_event *e = &r.event[i];

		if (e->ts < begin.ns)
			continue;
		if (e->type == TALECHAIN_WAKEUP && e->arg[0] == p.tid) {
			assert_int_equal(e->arg[1], getpid());
			assert_int_equal(
			    high(e->arg[2]), TALECHAIN_CONTEXT_TASK);
			assert_int_equal(e->tid, me);
			assert_int_equal(e->cpu, cpu[0]);
			waker++;
		}
		if (e->type != TALECHAIN_SCHEDULE || low(e->arg[0]) != p.tid ||
		    e->arg[2] == 0)
			continue;
		assert_int_equal(low(e->arg[1]), me);
		assert_int_equal(high(e->arg[1]), getpid());
		assert_true(e->arg[2] < e->ts);
		assert_int_equal(e->cpu, cpu[1]);
		scheduled++;
	}
	/* One that lost its CPU as it went to sleep is not scheduled for it. */
	assert_in_range(waker, ROUNDS / 2, ROUNDS);
	assert_in_range(scheduled, ROUNDS / 2, ROUNDS);
	assert_true(
	    recording_find(&r, 0, TALECHAIN_THREAD, is_named, &p.tid) >= 0);
	recording_close(&r);
}

static bool
is_renamed(const struct talechain_event *e, const void *arg)
{
	return is_for(e, arg) && memcmp(&e->arg[2], "another", 8) == 0;
}

/* Goal: a thread that has been named and takes another name is named again
 * at once: most threads get theirs so, after they were first seen. */
TEST(test_rename)
{
	struct recording r;
	struct partner p = {0};
	unsigned cpu[1];

	recording_open_usual(&r);
	assert_int_equal(usable_cpus(cpu, 1), 1);
	p.cpu = cpu[0];
	recording_begin(&r);
	partner_start(&p);
	partner_call(&p);
	partner_answer(&p);
	assert_int_equal(pthread_setname_np(p.thread, "another"), 0);
	partner_call(&p);
	partner_answer(&p);
	recording_end(&r);
	partner_stop(&p);
	assert_true(
	    recording_find(&r, 0, TALECHAIN_THREAD, is_for, &p.tid) >= 0);
	assert_true(
	    recording_find(&r, 0, TALECHAIN_THREAD, is_renamed, &p.tid) >= 0);
	recording_close(&r);
}

/* Goal: a thread that sleeps is woken by the timer's interrupt, and not by
 * whoever was interrupted. */
TEST(test_timer)
{
	struct timespec nap = {.tv_nsec = 2000000};
	uint32_t me = (uint32_t)gettid();
	struct recording r;
	unsigned tries;
	int i = -1, k = -1;

	recording_open_usual(&r);
	recording_need(&r, PROFILER_SIGNAL_INTERRUPT);
	/* On a busy machine the time may be over before it sleeps; then it is
	 * not woken. */
	for (tries = 0; k < 0 && tries < 50; tries++) {
		recording_begin(&r);
		nanosleep(&nap, NULL);
		recording_end(&r);
		i = recording_find(&r, 0, TALECHAIN_WAKEUP, is_for, &me);
		if (i < 0)
			continue;
		assert_int_not_equal(
		    high(r.event[i].arg[2]), TALECHAIN_CONTEXT_TASK);
		k = recording_find(
		    &r, (unsigned)i, TALECHAIN_SCHEDULE, is_for, &me);
	}
	assert_true(k >= 0);
	assert_int_equal(r.event[k].arg[1], 0); /* a waker there is none */
	assert_int_not_equal(r.event[k].arg[2], 0);
	recording_close(&r);
}

/* --- preemption ----------------------------------------------------------- */

struct switching {
	uint32_t from, to;
};

static bool
is_switch(const struct talechain_event *e, const void *arg)
{
	const struct switching *s = arg;

	return e->tid == s->from && low(e->arg[0]) == s->to;
}

/* Goal: a real-time thread that takes the CPU is named as the preemptor, and
 * the wait of the preempted one is as long as the other ran. */
TEST(test_preemption)
{
	struct partner p = {.priority = 10, .spin_ns = 3 * NS_PER_MS};
	uint32_t me = (uint32_t)gettid();
	struct switching s;
	struct recording r;
	unsigned tries = 0;
	int i = -1, k;

	usable_cpus(&p.cpu, 1);
	recording_open_usual(&r);
	run_on(p.cpu);
	partner_start(&p);
	if (!p.privileged) {
		partner_stop(&p);
		recording_close(&r);
		unit_skip("SCHED_FIFO is not allowed");
	}
	s = (struct switching){me, p.tid};
	/* Some kernels do not report each switch. */
	for (k = -1; k < 0; tries++) {
		assert_int_not_equal(tries, PREEMPTION_TRIES);
		recording_begin(&r);
		partner_call(&p); /* it runs before this returns */
		spin(NS_PER_MS);
		partner_answer(&p);
		recording_end(&r);
		i = recording_find(&r, 0, TALECHAIN_SCHEDULE, is_switch, &s);
		if (i >= 0)
			k = recording_find(
			    &r, (unsigned)i, TALECHAIN_SCHEDULE, is_for, &me);
	}
	partner_stop(&p);
	assert_int_equal(
	    r.event[i].arg[3] >> TALECHAIN_OFF_SHIFT, TALECHAIN_OFF_PREEMPTED);
	assert_int_equal(r.event[i].arg[3] >> 48 & 0xff, 99 - p.priority);
	assert_int_equal(low(r.event[i].arg[1]), me);
	assert_true(schedule_wait_ns(&r.event[k]) >= (uint64_t)p.spin_ns);
	assert_true(schedule_wait_ns(&r.event[k]) <=
		    r.event[k].ts - r.event[i].ts + 1000);
	assert_int_equal(r.event[k].arg[2], 0); /* nobody woke it */
	recording_close(&r);
}

/* --- the turns of others -------------------------------------------------- */

/* Make a process that is not watched, on a CPU: for each byte that it reads it
 * computes, and then writes one.  -1: it may not be a real-time process. */
static pid_t
stranger_start(unsigned cpu, int in, int out, int64_t spin_ns)
{
	struct sched_param param = {.sched_priority = 10};
	pid_t pid = fork();
	char c;

	assert_true(pid >= 0);
	if (pid > 0)
		return sched_setscheduler(pid, SCHED_FIFO, &param) == 0 ? pid
									: -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_on(cpu);
	while (read(in, &c, 1) == 1) {
		spin(spin_ns);
		if (write(out, &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* Goal: while a thread of ours waits for its CPU, switches between two others
 * are reported, and its return says that they are.  Ours is a real-time thread
 * of lower priority: nobody else gets the CPU between it and them. */
TEST(test_turns)
{
	struct sched_param param = {.sched_priority = 5}, usual = {0};
	uint32_t me = (uint32_t)gettid();
	int first[2], second[2], done[2], i = -1, k = -1, n = -1;
	struct switching s;
	struct recording r;
	unsigned cpu, tries;
	pid_t a, b;
	char c = 0;

	usable_cpus(&cpu, 1);
	recording_open_usual(&r);
	assert_true(pipe(first) == 0 && pipe(second) == 0 && pipe(done) == 0);
	run_on(cpu);
	a = stranger_start(cpu, first[0], second[1], 2 * NS_PER_MS);
	b = stranger_start(cpu, second[0], done[1], NS_PER_MS);
	if (a < 0 || b < 0) {
		recording_close(&r);
		unit_skip("SCHED_FIFO is not allowed");
	}
	assert_int_equal(sched_setscheduler(0, SCHED_FIFO, &param), 0);
	for (tries = 0; n < 0; tries++) {
		if (tries == PREEMPTION_TRIES)
			fail_msg("switches %d, %d of %u, %" PRIu64 " lost", i,
			    k, r.count, r.lost);
		recording_begin(&r);
		assert_int_equal(write(first[1], &c, 1), 1);
		assert_int_equal(read(done[0], &c, 1), 1);
		recording_end(&r);
		s = (struct switching){me, (uint32_t)a};
		i = recording_find(&r, 0, TALECHAIN_SCHEDULE, is_switch, &s);
		s = (struct switching){(uint32_t)a, (uint32_t)b};
		if (i >= 0)
			k = recording_find(
			    &r, (unsigned)i, TALECHAIN_SCHEDULE, is_switch, &s);
		s = (struct switching){(uint32_t)b, me};
		if (i >= 0 && k >= 0)
			n = recording_find(
			    &r, (unsigned)k, TALECHAIN_SCHEDULE, is_switch, &s);
	}
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &usual), 0);
	assert_true(r.event[k].ts - r.event[i].ts >= 2 * NS_PER_MS);
	assert_true(r.event[n].ts - r.event[k].ts >= NS_PER_MS);
	assert_int_equal(r.event[k].pid, a);
	assert_int_equal(high(r.event[k].arg[0]), b);
	assert_int_equal(
	    r.event[k].arg[3] >> TALECHAIN_OFF_SHIFT, TALECHAIN_OFF_SLEEPING);
	assert_true((r.event[n].arg[3] & TALECHAIN_WHOLE) != 0);
	kill(a, SIGKILL);
	kill(b, SIGKILL);
	waitpid(a, NULL, 0);
	waitpid(b, NULL, 0);
	recording_close(&r);
}

/* Goal: switches to and from a thread of policy SCHED_IDLE say so, others do
 * not. */
TEST(test_batch)
{
	struct sched_param none = {0};
	struct timespec nap = {.tv_nsec = 2 * NS_PER_MS};
	uint32_t me = (uint32_t)gettid();
	struct switching to, from;
	struct recording r;
	int i = -1, k = -1;
	unsigned cpu;
	pid_t pid;

	usable_cpus(&cpu, 1);
	recording_open_usual(&r);
	run_on(cpu);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			spin(NS_PER_S);
	}
	assert_int_equal(sched_setscheduler(pid, SCHED_IDLE, &none), 0);
	to = (struct switching){me, (uint32_t)pid};
	from = (struct switching){(uint32_t)pid, me};
	for (unsigned tries = 0; i < 0 || k < 0; tries++) {
		assert_int_not_equal(tries, PREEMPTION_TRIES);
		recording_begin(&r);
		nanosleep(&nap, NULL);
		recording_end(&r);
		i = recording_find(&r, 0, TALECHAIN_SCHEDULE, is_switch, &to);
		k = recording_find(&r, 0, TALECHAIN_SCHEDULE, is_switch, &from);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(
	    r.event[i].arg[3] & (TALECHAIN_BATCH | TALECHAIN_TO_BATCH),
	    TALECHAIN_TO_BATCH);
	assert_int_equal(
	    r.event[k].arg[3] & (TALECHAIN_BATCH | TALECHAIN_TO_BATCH),
	    TALECHAIN_BATCH);
	assert_int_equal(
	    r.event[i].arg[3] >> TALECHAIN_OFF_SHIFT, TALECHAIN_OFF_SLEEPING);
	recording_close(&r);
}

/* --- page faults ---------------------------------------------------------- */

struct range {
	uint64_t begin, bytes;
};

static bool
is_within(const struct talechain_event *e, const void *arg)
{
	const struct range *range = arg;

	return e->arg[0] - range->begin < range->bytes;
}

static void
check_fault(const struct talechain_event *e)
{
	assert_int_equal(e->pid, getpid());
	assert_int_equal(e->tid, gettid());
	assert_true(e->arg[1] > 0);
	assert_true(e->arg[1] < 600 * (uint64_t)NS_PER_S);
	assert_int_equal(e->arg[3], 0);
}

/* Goal: each page that is touched for the first time is one small fault. */
TEST(test_small_faults)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page, i;
	struct recording r;
	struct range range;
	char *p;
	int at = -1;

	recording_open_usual(&r);
	recording_need(&r, PROFILER_SIGNAL_PAGEFAULT);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	recording_begin(&r);
	for (i = 0; i < bytes; i += page)
		p[i] = 1;
	recording_end(&r);
	for (i = 0; i < bytes; i += page) {
		range = (struct range){(uint64_t)(uintptr_t)p + i, page};
		assert_int_equal(
		    recording_count(&r, TALECHAIN_PAGEFAULT, is_within, &range),
		    1);
		at = recording_find(&r, (unsigned)(at + 1), TALECHAIN_PAGEFAULT,
		    is_within, &range);
		assert_true(at >= 0); /* and in their order */
		check_fault(&r.event[at]);
		assert_int_equal(r.event[at].arg[2], page);
	}
	munmap(p, bytes);
	recording_close(&r);
}

/* Kilobytes of huge pages that this process has. */
static long
huge_kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	long kib = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "AnonHugePages:", 14) == 0)
			kib = atol(line + 14);
	if (f != NULL)
		fclose(f);
	return kib;
}

/* Goal: a huge page is one fault of two megabytes, and takes longer than a
 * small one. */
TEST(test_huge_fault)
{
	struct recording r;
	struct range range;
	char *p, *aligned;
	long before;
	int i;

	recording_open_usual(&r);
	p = mmap(NULL, 2 * HUGE_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	aligned = p + (HUGE_BYTES - (uintptr_t)p % HUGE_BYTES);
	before = huge_kib();
	recording_begin(&r);
	if (madvise(aligned, HUGE_BYTES, MADV_HUGEPAGE) == 0)
		aligned[123456] = 1;
	recording_end(&r);
	if (huge_kib() - before < 2048 ||
	    !r.state[PROFILER_SIGNAL_PAGEFAULT].on) {
		munmap(p, 2 * HUGE_BYTES);
		recording_close(&r);
		unit_skip("there was no huge page");
	}
	range = (struct range){(uint64_t)(uintptr_t)aligned, HUGE_BYTES};
	assert_int_equal(
	    recording_count(&r, TALECHAIN_PAGEFAULT, is_within, &range), 1);
	i = recording_find(&r, 0, TALECHAIN_PAGEFAULT, is_within, &range);
	check_fault(&r.event[i]);
	assert_int_equal(r.event[i].arg[2], HUGE_BYTES);
	/* Two megabytes cannot be cleared at more than 200 GB/s. */
	assert_true(r.event[i].arg[1] > 10000);
	munmap(p, 2 * HUGE_BYTES);
	recording_close(&r);
}

/* --- processes ------------------------------------------------------------ */

/* A child that waits until it may go on, and then ends in some way. */
static pid_t
child_start(int go[2], int way)
{
	pid_t pid;
	char c;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	close(go[1]);
	if (read(go[0], &c, 1) != 1)
		_exit(99);
	if (way == 0)
		execl("/bin/true", "true", (char *)NULL);
	else if (way == SIGKILL)
		kill(getpid(), SIGKILL);
	_exit(way);
}

static bool
is_of(const struct talechain_event *e, const void *arg)
{
	return e->pid == *(const uint32_t *)arg;
}

/* Goal: a server's exec and its exit are told, with the status that its
 * parent gets; those of a process that is not watched are not. */
TEST(test_exec_exit)
{
	static const int way[] = {0, 3, SIGKILL};
	struct recording r;
	unsigned i;

	recording_open_usual(&r);
	for (i = 0; i < 6; i++) {
		int go[2], status, at;
		bool watch = i < 3;
		pid_t pid = child_start(go, way[i % 3]);
		uint32_t who = (uint32_t)pid;

		kernel_unwatch(r.kernel, 1);
		if (watch)
			kernel_watch(r.kernel, 1, pid, false);
		recording_begin(&r);
		assert_int_equal(write(go[1], "x", 1), 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		recording_end(&r);
		close(go[0]);
		close(go[1]);
		assert_int_equal(
		    recording_count(&r, TALECHAIN_EXEC, is_of, &who),
		    watch && way[i % 3] == 0);
		assert_int_equal(
		    recording_count(&r, TALECHAIN_EXIT, is_of, &who), watch);
		at = recording_find(&r, 0, TALECHAIN_EXIT, is_of, &who);
		if (watch)
			assert_int_equal(r.event[at].arg[0], status);
	}
	recording_close(&r);
}

static bool
members_have(struct recording *r, unsigned server, pid_t pid)
{
	pid_t member[KERNEL_PROCESSES];
	unsigned n = kernel_members(r->kernel, server, member);

	for (unsigned i = 0; i < n; i++)
		if (member[i] == pid)
			return true;
	return false;
}

static bool
is_member(const struct talechain_event *e, const void *arg)
{
	struct kernel *k = (struct kernel *)(uintptr_t)arg;

	return kernel_owner(kernel_channel(k, 0)->owners, e) == 1;
}

/* A master that forks a worker, which executes another program; status: of the
 * worker. */
static int
master(int go)
{
	int status = 0;
	pid_t worker;
	char c;

	if (read(go, &c, 1) != 1)
		return 98;
	worker = fork();
	if (worker == 0)
		execl("/bin/sh", "sh", "-c", "/bin/true; exit 7", (char *)NULL);
	if (worker < 0 || waitpid(worker, &status, 0) != worker)
		return 99;
	return WEXITSTATUS(status);
}

static bool
is_exit_7(const struct talechain_event *e, const void *arg)
{
	return e->pid != *(const uint32_t *)arg && e->arg[0] == 7 << 8;
}

static bool
is_begun(const struct talechain_event *e, const void *arg)
{
	return high(e->arg[0]) == *(const uint32_t *)arg;
}

/* Of its first thread: ThreadSanitizer adds one of its own. */
static bool
is_end(const struct talechain_event *e, const void *arg)
{
	return e->tid == *(const uint32_t *)arg &&
	       e->arg[3] >> TALECHAIN_OFF_SHIFT == TALECHAIN_OFF_DEAD;
}

/* Goal: what a watched process forks is watched from its first moment to its
 * last switch, also what that forks, and whatever it executes; then it is no
 * member any more.  A process that is watched alone has no such children. */
TEST(test_fork)
{
	struct recording r;
	bool alone = false;

	recording_open_usual(&r);
	assert_true(kernel_follows(r.kernel));
	do {
		int go[2], status, at;
		pid_t pid;
		uint32_t who, worker;

		assert_int_equal(pipe(go), 0);
		pid = fork();
		if (pid == 0)
			_exit(master(go[0]));
		who = (uint32_t)pid;
		assert_int_equal(kernel_watch(r.kernel, 1, pid, alone), 0);
		assert_true(members_have(&r, 1, pid));
		recording_begin(&r);
		assert_int_equal(write(go[1], "x", 1), 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		recording_end(&r);
		assert_int_equal(WEXITSTATUS(status), 7);
		assert_false(members_have(&r, 1, pid));
		at = recording_find(&r, 0, TALECHAIN_EXIT, is_exit_7, &who);
		assert_int_equal(at >= 0, !alone);
		if (at >= 0) {
			worker = r.event[at].pid;
			/* Its parent hears of its end before its last switch,
			 * and so do we. */
			recording_await(
			    &r, TALECHAIN_SCHEDULE, is_end, &worker);
			at = recording_find(
			    &r, 0, TALECHAIN_EXIT, is_exit_7, &who);
			assert_true(recording_find(&r, 0, TALECHAIN_SCHEDULE,
					is_begun, &worker) >= 0);
			assert_true(recording_count(&r, TALECHAIN_EXEC, is_of,
					&worker) >= 1);
			assert_int_equal(recording_count(&r, TALECHAIN_SCHEDULE,
					     is_end, &worker),
			    1);
			assert_false(members_have(&r, 1, (pid_t)worker));
			assert_int_equal(
			    kernel_owner(kernel_channel(r.kernel, 0)->owners,
				&r.event[at]),
			    1);
			/* sh's own child */
			assert_true(recording_count(&r, TALECHAIN_EXEC,
					is_member, r.kernel) >= 2);
		}
		close(go[0]);
		close(go[1]);
		alone = !alone;
	} while (alone);
	recording_close(&r);
}

/* --- CPU quota ------------------------------------------------------------ */

/* What the events say of this thread while it was throttled. */
struct throttles {
	unsigned seen, reported;
	int64_t longest_ns;
};

static struct throttles
throttles_check(const struct recording *r)
{
	struct throttles t = {0};
	uint32_t me = (uint32_t)gettid();
	uint64_t until_ns = 0;
	int k;

	for (unsigned i = 0; i < r->count; i++) {
		const struct talechain_event *e = &r->event[i];

		if (e->type == TALECHAIN_QUOTA && e->tid == me) {
			until_ns = e->arg[0];
			assert_int_equal(e->arg[1], 100 * NS_PER_MS);
			assert_int_equal(e->arg[2], 5 * NS_PER_MS);
			assert_true(until_ns <= e->ts + 100 * NS_PER_MS);
			t.reported++;
		}
		if (e->type != TALECHAIN_SCHEDULE || e->tid != me ||
		    e->arg[3] >> TALECHAIN_OFF_SHIFT != TALECHAIN_OFF_THROTTLED)
			continue;
		t.seen++;
		assert_int_equal(t.reported, t.seen);
		k = recording_find(r, i, TALECHAIN_SCHEDULE, is_for, &me);
		if (k > (int)i &&
		    (int64_t)(r->event[k].ts - e->ts) > t.longest_ns)
			t.longest_ns = (int64_t)(r->event[k].ts - e->ts);
		/* Nothing but the end of the test ends it sooner. */
		assert_true(k < 0 || r->event[k].ts + NS_PER_MS >= until_ns);
	}
	return t;
}

/* Goal: a thread whose cgroup has used up its quota is not called preempted,
 * and is away until the next period, which is known. */
TEST(test_throttled)
{
	struct cgroup g = {0}, root = {.old = true};
	struct throttles t = {0};
	struct recording r;
	bool made, joined;
	unsigned truly = 0;

	recording_open_usual(&r);
	made = cgroup_make(&g, "cpu") && cgroup_quota(&g, 5000);
	recording_begin(&r);
	joined =
	    made && cgroup_write(&g, g.old ? "tasks" : "cgroup.procs", "0");
	/* On a busy machine its quota may last until the period ends nearly, or
	 * longer. */
	for (unsigned i = 0; joined && t.longest_ns <= 20 * NS_PER_MS; i++) {
		if (i == THROTTLE_TRIES)
			break;
		spin(250 * NS_PER_MS);
		recording_end(&r);
		t = throttles_check(&r);
	}
	truly = (unsigned)cgroup_stat(&g, "nr_throttled");
	snprintf(root.path, sizeof(root.path), "/sys/fs/cgroup%s",
	    g.old ? "/cpu" : "");
	cgroup_write(&root, g.old ? "tasks" : "cgroup.procs", "0");
	cgroup_remove(&g);
	if (truly == 0) {
		recording_close(&r);
		unit_skip("%s", joined ? "it was not given so much CPU time"
				       : "no cgroup may be made");
	}
	assert_true(t.seen >= 1 && t.seen <= truly + 1);
	assert_true(t.longest_ns > 20 * NS_PER_MS);
	recording_close(&r);
}
