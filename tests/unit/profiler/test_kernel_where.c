/*
 * Goal: the kernel's events say where a thread waited: in which system call,
 * and what is at the other end of a connection.
 */
#include "tests/unit/profiler/kernel_events.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "loopback.h"

#define NAP_NS (2 * NS_PER_MS)
static uint32_t word;

#define TRIES 50 /* on a busy machine the time may be over before it sleeps */

static void
nap(void)
{
	struct timespec t = {.tv_nsec = NAP_NS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void
wait_on_word(void)
{
	struct timespec t = {.tv_nsec = NAP_NS};

	syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0);
}

static void
wait_for_nothing(void)
{
	struct timespec t = {.tv_nsec = NAP_NS};

	ppoll(NULL, 0, &t, NULL);
}

static const struct {
	void (*wait)(void);
	unsigned number;
	const uint32_t *word;
} waits[] = {
    {nap, SYS_clock_nanosleep, NULL},
    {wait_on_word, SYS_futex, &word},
    {wait_for_nothing, SYS_ppoll, NULL},
};

static bool
is_asleep(const struct talechain_event *e, const void *arg)
{
	return e->tid == *(const uint32_t *)arg &&
	       e->arg[3] >> TALECHAIN_OFF_SHIFT == TALECHAIN_OFF_SLEEPING;
}

static bool
is_woken(const struct talechain_event *e, const void *arg)
{
	return e->arg[0] == *(const uint32_t *)arg;
}

TEST(test_call)
{
	uint32_t me = (uint32_t)gettid();
	struct recording r;
	int i, woken;

	recording_open_usual(&r);
	for (size_t n = 0; n < sizeof(waits) / sizeof(waits[0]); n++) {
		i = woken = -1;
		for (unsigned k = 0; woken < 0 && k < TRIES; k++) {
			recording_begin(&r);
			waits[n].wait();
			recording_end(&r);
			i = recording_find(
			    &r, 0, TALECHAIN_SCHEDULE, is_asleep, &me);
			woken = i < 0 ? -1
				      : recording_find(&r, (unsigned)i,
					    TALECHAIN_WAKEUP, is_woken, &me);
			/* Another CPU may wake it while it leaves its own. */
		}
		assert_true(i >= 0 && woken >= 0);
		assert_int_equal(
		    schedule_call(&r.event[i]), waits[n].number + 1);
		assert_int_equal(schedule_wait_ns(&r.event[i]) >> 36, 0);
		i = woken;
		assert_ptr_equal(
		    (const void *)r.event[i].arg[3], waits[n].word);
	}
	recording_close(&r);
}

/* Goal: a thread that loses its CPU as it computes is in no system call. */
TEST(test_none)
{
	uint32_t me = (uint32_t)gettid();
	struct recording r;
	struct instant until;

	recording_open_usual(&r);
	recording_begin(&r);
	until = instant_plus(instant_now(), 20 * NS_PER_MS);
	while (instant_before(instant_now(), until))
		;
	recording_end(&r);
	for (unsigned i = 0; i < r.count; i++)
		if (r.event[i].type == TALECHAIN_SCHEDULE &&
		    r.event[i].tid == me &&
		    r.event[i].arg[3] >> TALECHAIN_OFF_SHIFT ==
			TALECHAIN_OFF_PREEMPTED)
			assert_int_equal(schedule_call(&r.event[i]), 0);
	recording_close(&r);
}

/* Connections of this process to itself. */
static const struct {
	int family;
	const char *to, *found; /* found: the address of SOCK_PEER */
	uint32_t ipv4;
} peers[] = {
    {AF_INET, "127.0.0.1", "::", INADDR_LOOPBACK},
    {AF_INET6, "::1", "::1", 0},
    {AF_INET6, "::ffff:127.0.0.1", "::ffff:127.0.0.1", INADDR_LOOPBACK},
};

static socklen_t
address_make(struct sockaddr_storage *out, int family, const char *text)
{
	struct sockaddr_in *v4 = (void *)out;
	struct sockaddr_in6 *v6 = (void *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	assert_int_equal(
	    inet_pton(family, text,
		family == AF_INET ? (void *)&v4->sin_addr : &v6->sin6_addr),
	    1);
	return family == AF_INET ? sizeof(*v4) : sizeof(*v6);
}

/* Whether an event has a port as its remote one. */
static bool
is_to(const struct talechain_event *e, const void *arg)
{
	return (e->arg[3] >> 32 & UINT16_MAX) == *(const uint16_t *)arg;
}

/* Connect, and send a byte; the events are in r.  Returns the port. */
static uint16_t
talk(struct recording *r, int family, const char *to)
{
	struct sockaddr_storage address;
	socklen_t length = address_make(
	    &address, family, family == AF_INET ? "127.0.0.1" : "::");
	int listener = socket(family, SOCK_STREAM, 0);
	int fd = socket(family, SOCK_STREAM, 0), accepted;
	uint16_t port;

	if (listener < 0 || bind(listener, (void *)&address, length) < 0) {
		close(listener);
		close(fd);
		return 0; /* no IPv6 here */
	}
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (void *)&address, &length), 0);
	port = ((struct sockaddr_in *)&address)->sin_port;
	length = address_make(&address, family, to);
	((struct sockaddr_in *)&address)->sin_port = port;
	recording_begin(r);
	assert_int_equal(connect(fd, (void *)&address, length), 0);
	assert_int_equal(send(fd, "x", 1, 0), 1);
	recording_end(r);
	accepted = accept(listener, NULL, NULL);
	close(accepted);
	close(listener);
	close(fd);
	return ntohs(port);
}

TEST(test_peer)
{
	char text[INET6_ADDRSTRLEN];
	struct recording r;
	uint16_t port;
	int i, k;

	recording_open_usual(&r);
	for (size_t n = 0; n < sizeof(peers) / sizeof(peers[0]); n++) {
		port = talk(&r, peers[n].family, peers[n].to);
		if (port == 0)
			continue;
		i = recording_find(&r, 0, TALECHAIN_SOCK_PEER, is_to, &port);
		assert_true(i >= 0);
		inet_ntop(AF_INET6, &r.event[i].arg[1], text, sizeof(text));
		assert_string_equal(text, peers[n].found);
		assert_int_equal(low(r.event[i].arg[3]), peers[n].ipv4);
		k = recording_find(&r, 0, TALECHAIN_SOCK_SEND, is_to, &port);
		assert_true(k > i);
		assert_int_equal(low(r.event[k].arg[3]), peers[n].ipv4);
		assert_int_equal(r.event[k].arg[0], r.event[i].arg[0]);
		/* Before the call again, if the call has no room for it. */
		assert_int_equal(
		    recording_count(&r, TALECHAIN_SOCK_PEER, is_to, &port),
		    peers[n].ipv4 == 0 ? 2 : 1);
	}
	recording_close(&r);
}

/* --- stacks --------------------------------------------------------------- */

#define COMPUTE_NS (50 * NS_PER_MS) /* of CPU: a dozen ticks */

/* Frames of these are looked for by the begin of the function; frame pointers
 * lead from the C library's, which may have none, at least to its caller. */
static __attribute__((noinline)) void
compute(void)
{
	struct timespec cpu;

	do {
		for (volatile unsigned i = 0; i < 1000000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	} while (cpu.tv_sec * NS_PER_S + cpu.tv_nsec < COMPUTE_NS);
}

/* Sleep in futex as the C library does, which has another use for the frame
 * pointer meanwhile. */
static __attribute__((noinline)) void
wait_for_lock(void)
{
#ifdef __x86_64__
	struct timespec t = {.tv_nsec = NAP_NS};
	register const struct timespec *timeout __asm__("r10") = &t;
	long call = SYS_futex;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\t"
			 "mov %%rdi, %%rbp\n\tsyscall\n\t"
			 "pop %%rbp\n\tlea 128(%%rsp), %%rsp"
			 : "+a"(call)
			 : "D"(&word), "S"(FUTEX_WAIT), "d"(0), "r"(timeout)
			 : "rcx", "r11", "memory", "cc");
#else
	wait_on_word();
#endif
}

static __attribute__((noinline)) void
wait_below(void)
{
	wait_for_lock();
	__asm__ volatile(""); /* or it would not be on the stack */
}

/* One request on a listener: sleep, compute, respond. */
static void
serve_one(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char c;

	if (fd < 0 || recv(fd, &c, 1, 0) != 1)
		_exit(1);
	wait_below();
	compute();
	if (send(fd, &c, 1, 0) != 1)
		_exit(2);
	/* Not with a request any more. */
	wait_on_word();
	recv(fd, &c, 1, 0);
	_exit(0);
}

struct stack_of {
	uint32_t tid;
	enum talechain_stack kind;
};

static bool
is_stack(const struct talechain_event *e, const void *arg)
{
	const struct stack_of *of = arg;

	return low(e->arg[0]) == of->tid && e->arg[0] >> 60 == of->kind;
}

/* Whether one of an event's addresses is within a function's first bytes. */
static bool
is_within(const struct talechain_event *e, const void *function)
{
	uint64_t begin = (uint64_t)(uintptr_t)function;

	for (unsigned i = 1; i < 4; i++)
		if (e->arg[i] >= begin && e->arg[i] < begin + 256)
			return true;
	return false;
}

/* Have a child serve one request; its events are in r. */
static uint32_t
request_one(struct recording *r)
{
	struct pair p;
	int fd, status;
	pid_t pid;

	pair_listen(&p, r->kernel, AF_INET);
	pid = fork();
	if (pid == 0)
		serve_one(p.listener);
	assert_int_equal(kernel_watch(r->kernel, 0, pid, true), 0);
	recording_begin(r);
	fd = pair_connect(&p, AF_INET);
	send_all(fd, "x", 1);
	receive_all(fd, 1);
	close(fd);
	close(p.listener);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	recording_end(r);
	return (uint32_t)pid;
}

/* Stacks of one request. */
struct found {
	unsigned waited, called, kernel, ran;
};

static void
found_add(const struct talechain_event *e, struct found *f)
{
	unsigned kind = (unsigned)(e->arg[0] >> 60);
	bool first = (e->arg[0] >> 54 & 0x3f) == 0;

	f->ran += kind == TALECHAIN_STACK_RAN &&
		  is_within(e, (const void *)(uintptr_t)compute);
	f->kernel += first && kind == TALECHAIN_STACK_KERNEL;
	f->waited += first && kind == TALECHAIN_STACK_WAITED;
	f->called += kind == TALECHAIN_STACK_WAITED &&
		     is_within(e, (const void *)(uintptr_t)wait_below);
	assert_int_not_equal(e->arg[1], 0);
	assert_int_equal(e->arg[1] >> 63, kind == TALECHAIN_STACK_KERNEL);
}

/* Goal: a thread that has a request has a stack where it slept or computed for
 * a millisecond, its own and the kernel's; else it has none.  What called a
 * function without a frame pointer is in it. */
TEST(test_stack)
{
	struct found f = {.ran = 0};
	struct stack_of of;
	struct recording r;

	recording_init(&r);
	r.options.stacks = true;
	recording_open(&r);
	/* On a busy machine it may never run for that long, nor sleep. */
	for (unsigned i = 0; i < TRIES && (f.ran == 0 || f.waited == 0); i++) {
		f = (struct found){.ran = 0};
		of.tid = request_one(&r);
		for (unsigned k = 0; k < r.count; k++)
			if (r.event[k].type == TALECHAIN_STACK) {
				assert_int_equal(
				    low(r.event[k].arg[0]), of.tid);
				assert_int_equal(
				    high(r.event[k].arg[0]) & 0x3fffff, of.tid);
				found_add(&r.event[k], &f);
			}
		/* The sleep with the request, and not the one after it. */
		assert_true(f.waited <= 1);
		assert_int_equal(f.kernel, f.waited);
		assert_int_equal(f.called, f.waited);
	}
	assert_int_equal(f.waited, 1);
	assert_true(f.ran > 0);
	recording_close(&r);
	/* And none if it is not wanted. */
	recording_open_usual(&r);
	request_one(&r);
	assert_int_equal(
	    recording_find(&r, 0, TALECHAIN_STACK, is_stack, &of), -1);
	recording_close(&r);
}
