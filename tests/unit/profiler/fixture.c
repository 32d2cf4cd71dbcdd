/* fixture.c: see the header. */
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "talechain/events/events.h"
#include "talechain/timeline/timeline.h"

/*
 * In place of the C library's: talechain.h waits a second for its channel,
 * which a busy machine may need longer for.
 */
int
setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	static const struct timeval patience = {.tv_sec = 120};

	if (level == SOL_SOCKET &&
	    (name == SO_RCVTIMEO || name == SO_SNDTIMEO)) {
		value = &patience;
		length = sizeof(patience);
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

void
fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	strcpy(f->directory, "/tmp/tailor-test-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(
	    f->socket, sizeof(f->socket), "%s/run/channels.sock", f->directory);
	assert_int_equal(timeline_new(&f->timeline, NULL, 16), 0);
	assert_int_equal(timeline_reader_from(&f->reader, f->timeline), 0);
	f->options = (struct profiler_options){.poll = PROFILER_POLL_SLEEP,
	    .sleep_ns = 50 * NS_PER_US,
	    .cpu = -1,
	    .channel_socket = f->socket,
	    .channels_max = 32,
	    .blind_ns = 1 * NS_PER_MS,
	    .servers = 1,
	    .server[0] = {.name = "s0", .hsperfdata = true, .agent = true},
	    .server[1] = {.name = "s1", .hsperfdata = true, .agent = true}};
}

struct fixture *
fixture_new(void)
{
	struct fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	fixture_init(f);
	return f;
}

void
fixture_start(struct fixture *f)
{
	assert_int_equal(profiler_new(&f->profiler, &f->options), 0);
	assert_int_equal(profiler_start(f->profiler, f->timeline), 0);
}

void
fixture_follow(struct fixture *f, pid_t pid)
{
	fixture_start(f);
	profiler_server_process(f->profiler, 0, pid);
}

void
fixture_spawn(const char *const argv[], pid_t *pid, FILE **in, FILE **out)
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	*pid = fork();
	assert_true(*pid >= 0);
	if (*pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*in = fdopen(to[1], "w");
	*out = fdopen(from[0], "r");
}

void
fixture_end_exit(struct fixture *f)
{
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	profiler_server_process(f->profiler, 0, getpid());
	fixture_wait_hazards(f, HAZARD_EXIT, false, 1);
	fixture_drain(f);
	fixture_check_balance(f);
}

void
fixture_fini(struct fixture *f)
{
	char run[96];

	profiler_free(&f->profiler);
	assert_null(f->profiler);
	/* Our socket must be gone, or the directories cannot be removed. */
	assert_int_equal(access(f->socket, F_OK), -1);
	snprintf(run, sizeof(run), "%s/run", f->directory);
	(void)rmdir(run);
	assert_int_equal(rmdir(f->directory), 0);
	timeline_reader_close(&f->reader);
	timeline_free(&f->timeline);
}

void
fixture_free(struct fixture *f)
{
	fixture_fini(f);
	free(f);
}

void
fixture_drain(struct fixture *f)
{
	uint64_t lost;

	while (f->hazards < FIXTURE_HAZARDS &&
	       profiler_hazard_take(f->profiler, &f->hazard[f->hazards]))
		f->hazards++;
	assert_true(f->hazards < FIXTURE_HAZARDS);
	while (f->slots < sizeof(f->slot) / sizeof(f->slot[0]) &&
	       timeline_read(f->reader, &f->slot[f->slots], &lost) ==
		   TIMELINE_READ_OK)
		/* Calibrations and blind times are many, and seldom asked. */
		f->slots +=
		    f->slot[f->slots].event.type !=
			TALECHAIN_META_CALIBRATION &&
		    f->slot[f->slots].event.type != TALECHAIN_META_BLIND;
}

unsigned
fixture_count(const struct fixture *f, enum hazard_kind kind, bool begin)
{
	unsigned i, n = 0;

	for (i = 0; i < f->hazards; i++)
		n += f->hazard[i].kind == kind && f->hazard[i].begin == begin;
	return n;
}

unsigned
fixture_events(const struct fixture *f, unsigned type)
{
	unsigned i, n = 0;

	for (i = 0; i < f->slots; i++)
		n += f->slot[i].event.type == type;
	return n;
}

void
fixture_wait_hazards(
    struct fixture *f, enum hazard_kind kind, bool begin, unsigned count)
{
	struct instant limit = instant_plus(instant_now(), FIXTURE_LIMIT_NS);
	struct pollfd p = {
	    .fd = profiler_hazard_fd(f->profiler), .events = POLLIN};

	for (;;) {
		fixture_drain(f);
		if (fixture_count(f, kind, begin) >= count)
			return;
		if (!instant_before(instant_now(), limit))
			fail_msg("%u of %u %s %s",
			    fixture_count(f, kind, begin), count,
			    hazard_kind_name(kind), begin ? "begins" : "ends");
		/* If the wakeup were lost this would reach the limit. */
		poll(&p, 1, 1000);
	}
}

bool
eventually(bool (*is)(void *), void *arg)
{
	struct instant limit = instant_plus(instant_now(), FIXTURE_LIMIT_NS);
	struct timespec wait = {.tv_nsec = NS_PER_MS};

	while (!is(arg)) {
		if (!instant_before(instant_now(), limit))
			return false;
		nanosleep(&wait, NULL);
	}
	return true;
}

struct wanted {
	struct fixture *f;
	unsigned type, count;
};

static bool
has_events(void *arg)
{
	struct wanted *w = arg;

	fixture_drain(w->f);
	return fixture_events(w->f, w->type) >= w->count;
}

void
fixture_wait_events(struct fixture *f, unsigned type, unsigned count)
{
	if (!eventually(has_events, &(struct wanted){f, type, count}))
		fail_msg("%u of %u %s", fixture_events(f, type), count,
		    talechain_type_name(type));
}

void
fixture_wait_sweeps(struct fixture *f)
{
	struct profiler_stats s;
	uint64_t before;

	profiler_stats(f->profiler, &s);
	before = s.sweeps;
	assert_true(STATS_ARE(f, s, s.sweeps - before >= 3));
}

void
fixture_wait_source(
    struct fixture *f, unsigned server, enum profiler_source source)
{
	struct profiler_stats s;

	if (STATS_ARE(f, s, s.server[server].source == source)) {
		/* It is the other thread that says so. */
		fixture_wait_sweeps(f);
		return;
	}
	fail_msg("source of server %u is %s (%s), not %s", server,
	    profiler_source_name(s.server[server].source),
	    s.server[server].detail, profiler_source_name(source));
}

void
fixture_wait_channels(struct fixture *f, unsigned channels)
{
	struct profiler_stats s;

	assert_true(STATS_ARE(f, s, s.channels == channels));
}

void
fixture_wait_closed(struct fixture *f, unsigned opened)
{
	struct profiler_stats s;

	assert_true(
	    STATS_ARE(f, s, s.channels_opened == opened && s.channels == 0));
}

void
fixture_check_balance(const struct fixture *f)
{
	bool in_force[PROFILER_SERVERS][HAZARD_KIND_COUNT] = {{false}};
	const struct hazard *h;
	unsigned i, k;

	for (i = 0; i < f->hazards; i++) {
		h = &f->hazard[i];
		assert_int_not_equal(in_force[h->server][h->kind], h->begin);
		in_force[h->server][h->kind] = h->begin;
		assert_true(h->at.ns <= h->seen.ns);
		assert_true(h->at.ns > 0);
	}
	for (i = 0; i < PROFILER_SERVERS; i++)
		for (k = 0; k < HAZARD_KIND_COUNT; k++)
			assert_false(in_force[i][k]);
}
