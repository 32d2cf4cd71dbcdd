/*
 * bench_profiler.c: what a sweep costs, and how late a collection is seen.
 *
 *	bench_profiler [spin|relax|sleep]
 *
 * First the cost of a sweep with more and more to look at, in nanoseconds and
 * as a ratio to a sweep with nothing; the kinds take turns, so that what else
 * the machine does falls on all of them alike.  Then, where there are java
 * and libtailor-jvm.so (beside the build's bench directory), the delay of a
 * hazard after the stamp that the agent took inside the JVM: once learnt from
 * the agent's state word, once from hsperfdata.  The poll mode is that of the
 * second part.  Prints figures, judges nothing.
 */
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "profiler/observer/observer.h"
#include "profiler/profiler.h"

#define ROUNDS 31
#define SWEEPS 20000
#define COLLECTIONS 400

/* --- the cost of a sweep -------------------------------------------------- */

struct kind {
	const char *name;
	unsigned pages, agents, rings;
	struct observer o;
	struct hazard_ring hazards;
	struct command_ring commands, released;
	double ns[ROUNDS];
};

static double
median(double *v, size_t n)
{
	array_sort_double(v, n);
	return v[n / 2];
}

/* A performance page as large as a JVM's, with the counters of a quiet one. */
static struct hsperf_page *
page_make(void)
{
	static const enum hsperf_counter used[] = {HSPERF_SAFEPOINTS,
	    HSPERF_SAFEPOINT_TICKS, HSPERF_CAUSE, HSPERF_LAST_CAUSE,
	    HSPERF_COLLECTOR_0_COUNT, HSPERF_COLLECTOR_0_ENTRY,
	    HSPERF_COLLECTOR_0_EXIT};
	struct hsperf_page *p = calloc(1, sizeof(*p));
	unsigned char *map = aligned_alloc(4096, 32768);
	unsigned i;

	if (p == NULL || map == NULL)
		abort();
	memset(map, 0, 32768);
	/* Spread as in JDK 17: each on a line of its own. */
	for (i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		p->layout.offset[used[i]] = 896 + 1024 * i;
		p->layout.length[used[i]] = 8;
	}
	p->layout.offset[HSPERF_CAUSE] += 1; /* texts are not aligned */
	strcpy((char *)map + p->layout.offset[HSPERF_CAUSE], "No GC");
	p->map = map;
	p->bytes = 32768;
	p->kind = COLLECTOR_G1;
	pause_init(&p->pause, p->kind, 1000000000);
	return p;
}

static void
kind_init(struct kind *k, struct timeline *timeline)
{
	struct channel *c;
	unsigned i;

	memset(&k->o, 0, sizeof(k->o));
	k->o.servers = PROFILER_SERVERS;
	k->o.blind_ns = NS_PER_S;
	k->o.output.timeline = timeline;
	k->o.output.hazards = &k->hazards;
	k->o.commands = &k->commands;
	k->o.released = &k->released;
	if (hazard_ring_init(&k->hazards) < 0)
		abort();
	for (i = 0; i < PROFILER_SERVERS; i++) {
		k->o.hazards[i].output = &k->o.output;
		k->o.hazards[i].server = i;
	}
	for (i = 0; i < k->pages; i++) {
		k->o.page[i] = page_make();
		k->o.page[i]->server = i;
	}
	for (i = 0; i < k->agents + k->rings; i++) {
		if (channel_new_inside(&c, i + 1,
			i < k->agents ? TALECHAIN_KIND_JVM : TALECHAIN_KIND_APP,
			"bench", 10) < 0)
			abort();
		observer_add_channel(&k->o, c, instant_now());
	}
}

static void
kind_measure(struct kind *k, unsigned round)
{
	struct instant begin = instant_now();
	unsigned i;

	for (i = 0; i < SWEEPS; i++)
		observer_sweep(&k->o, instant_now());
	k->ns[round] =
	    (double)instant_since(instant_now(), begin) / (double)SWEEPS;
}

static void
measure_take(struct kind *k)
{
	struct instant begin;
	struct hazard h;
	unsigned i, taken = 0;

	begin = instant_now();
	for (i = 0; i < SWEEPS * 10; i++)
		taken += hazard_ring_take(&k->hazards, &h);
	printf("an empty hazard ring %26.1f ns\n",
	    (double)(instant_since(instant_now(), begin) - taken) /
		(SWEEPS * 10.0));
}

static void
measure_sweeps(void)
{
	static struct kind kinds[] = {
	    {.name = "nothing"},
	    {.name = "1 page", .pages = 1},
	    {.name = "2 pages", .pages = 2},
	    {.name = "2 agents", .agents = 2},
	    {.name = "2 pages, 2 agents", .pages = 2, .agents = 2},
	    {.name = "the same, 16 rings",
		.pages = 2,
		.agents = 2,
		.rings = 14},
	    {.name = "the same, 256 rings",
		.pages = 2,
		.agents = 2,
		.rings = 254},
	};
	const unsigned n = sizeof(kinds) / sizeof(kinds[0]);
	struct timeline *timeline;
	double nothing = 0, ns;
	unsigned i, round;

	if (timeline_new(&timeline, NULL, 16) < 0)
		abort();
	for (i = 0; i < n; i++)
		kind_init(&kinds[i], timeline);
	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < n; i++)
			kind_measure(&kinds[i], round);
	printf("a sweep with                median ns   ratio\n");
	for (i = 0; i < n; i++) {
		ns = median(kinds[i].ns, ROUNDS);
		if (i == 0)
			nothing = ns;
		printf(
		    "  %-24s %10.1f  %6.2f\n", kinds[i].name, ns, ns / nothing);
	}
	measure_take(&kinds[0]);
}

/* --- the delay of a hazard ------------------------------------------------ */

struct delays {
	double ns[COLLECTIONS * 4];
	size_t count;
};

/* Both ends of the JVM's conversation. */
struct java {
	pid_t pid;
	FILE *in, *out;
};

static bool
java_start(struct java *j, const char *agent, const char *socket)
{
	char here[] = __FILE__; /* dirname() writes into it */
	char option[700], source[512], line[64] = "";
	int in[2], out[2];

	snprintf(
	    option, sizeof(option), "-agentpath:%s=socket=%s", agent, socket);
	snprintf(source, sizeof(source), "%s/../unit/profiler/Pauses.java",
	    dirname(here));
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return false;
	j->pid = fork();
	if (j->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execlp("java", "java", "-Xmx64m", "-XX:+UseSerialGC", option,
		    source, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	j->in = fdopen(in[1], "w");
	j->out = fdopen(out[0], "r");
	return j->in != NULL && j->out != NULL &&
	       fgets(line, sizeof(line), j->out) != NULL;
}

static void
java_stop(struct java *j)
{
	if (j->in != NULL)
		fclose(j->in);
	if (j->out != NULL)
		fclose(j->out);
	if (j->pid > 0)
		waitpid(j->pid, NULL, 0);
}

/* Pair each collection that the agent stamped with the hazard nearest to it. */
static void
collect(struct timeline_reader *r, struct delays *d)
{
	static uint64_t stamp[COLLECTIONS * 4], seen[COLLECTIONS * 4];
	struct timeline_slot slot;
	size_t stamps = 0, seens = 0, i, k = 0;
	enum timeline_read got;
	uint64_t lost;

	while ((got = timeline_read(r, &slot, &lost)) != TIMELINE_READ_NONE) {
		if (got == TIMELINE_READ_LOST)
			continue;
		if (slot.event.type == TALECHAIN_JVM_GC_BEGIN &&
		    slot.channel != OUTPUT_CHANNEL && stamps < COLLECTIONS * 4)
			stamp[stamps++] = slot.event.ts;
		if (slot.event.type == TALECHAIN_PAUSE_BEGIN &&
		    slot.event.arg[1] == HAZARD_GC && seens < COLLECTIONS * 4)
			seen[seens++] = slot.read_ns;
	}
	for (i = 0; i < stamps; i++) {
		/* hsperfdata may be before the agent, by less than 1 ms. */
		while (k < seens && seen[k] + (uint64_t)NS_PER_MS < stamp[i])
			k++;
		if (k < seens && (i + 1 == stamps || seen[k] < stamp[i + 1]))
			d->ns[d->count++] =
			    (double)(int64_t)(seen[k] - stamp[i]);
	}
}

static void
print_delays(const char *source, struct delays *d)
{
	size_t n = d->count;

	array_sort_double(d->ns, n);
	printf("  %-24s %10.1f %10.1f %10.1f %8zu\n", source,
	    d->ns[n / 2] / 1e3, d->ns[n * 9 / 10] / 1e3,
	    d->ns[n * 99 / 100] / 1e3, n);
}

/* One profiler, one JVM; the agent's channel is always there for its stamps,
 * but its word on hazards counts only if asked for. */
static bool
measure_delay(enum profiler_poll poll, bool use_agent, const char *agent)
{
	char directory[] = "/tmp/tailor-bench-XXXXXX", socket[64], line[64];
	static struct delays d;
	struct profiler_options options = {.poll = poll,
	    .sleep_ns = 50 * NS_PER_US,
	    .cpu = -1,
	    .channels_max = 8,
	    .blind_ns = NS_PER_S,
	    .servers = 1,
	    .server[0] = {
		.name = "jvm", .hsperfdata = !use_agent, .agent = use_agent}};
	struct timeline_reader *reader;
	struct timeline *timeline;
	struct profiler_stats stats = {0};
	struct java java = {0};
	struct profiler *p;
	bool good = false;
	int i;

	if (mkdtemp(directory) == NULL)
		return false;
	snprintf(socket, sizeof(socket), "%s/s", directory);
	options.channel_socket = socket;
	if (timeline_new(&timeline, NULL, 18) < 0 ||
	    timeline_reader_from(&reader, timeline) < 0 ||
	    profiler_new(&p, &options) < 0 || profiler_start(p, timeline) < 0)
		abort();
	if (!java_start(&java, agent, socket))
		goto out;
	profiler_server_process(p, 0, java.pid);
	for (i = 0;
	     i < 200 && (stats.channels == 0 || stats.server[0].source <
						    PROFILER_SOURCE_HSPERFDATA);
	     i++) {
		usleep(20000);
		profiler_stats(p, &stats);
	}
	for (i = 0; i < COLLECTIONS; i++) {
		fprintf(java.in, "gc 1\n");
		fflush(java.in);
		if (fgets(line, sizeof(line), java.out) == NULL)
			goto out;
	}
	d.count = 0;
	collect(reader, &d);
	good = d.count > COLLECTIONS / 2;
	if (good)
		print_delays(use_agent ? "agent" : "hsperfdata", &d);
out:
	java_stop(&java);
	profiler_free(&p);
	timeline_reader_close(&reader);
	timeline_free(&timeline);
	rmdir(directory);
	return good;
}

int
main(int argc, char **argv)
{
	enum profiler_poll poll = PROFILER_POLL_SLEEP;
	char exe[400] = "", agent[512];

	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "spin") == 0)
		poll = PROFILER_POLL_SPIN;
	if (argc > 1 && strcmp(argv[1], "relax") == 0)
		poll = PROFILER_POLL_RELAX;
	measure_sweeps();
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	snprintf(
	    agent, sizeof(agent), "%s/libtailor-jvm.so", dirname(dirname(exe)));
	if (access(agent, R_OK) < 0) {
		printf("no delays: no libtailor-jvm.so (make agent)\n");
		return 0;
	}
	printf("hazard seen, us after begin   p50        p90        p99  "
	       "    of (poll %s)\n",
	    profiler_poll_name(poll));
	if (!measure_delay(poll, true, agent) ||
	    !measure_delay(poll, false, agent))
		printf("no delays: no java, or it did not collect\n");
	return 0;
}
