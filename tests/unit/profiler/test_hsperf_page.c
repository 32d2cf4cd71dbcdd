/*
 * Goal: a performance page is read right whatever its collector, from when
 * its first counter moves to when its last has; and a page that lies, is cut
 * short or is somebody else's costs nothing but its signals.
 */
#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "fake_page.h"
#include "profiler/jvm/cause.h"
#include "profiler/jvm/hsperf_page.h"

/* A fake page and ours of it, at a time that only moves when told. */
struct stage {
	struct fake_page fake;
	struct hsperf_page *page;
	struct pause_edges edges;
	char why[PAGE_TEXT];
	uint64_t ticks; /* of the JVM */
};

/* What came out, as "S" safepoint begin, "s" its end, "G", "g" collection. */
static const char *
sweep(struct stage *s)
{
	static char text[PAUSE_EDGES + 1];
	unsigned i, n = 0;

	if (hsperf_page_sweep(s->page, instant_now(), &s->edges))
		n = s->edges.count;
	for (i = 0; i < n; i++)
		text[i] =
		    "sSgG"[2 * s->edges.edge[i].gc + s->edges.edge[i].begin];
	text[n] = '\0';
	return text;
}

static void
stage_init(struct stage *s, const char *collector)
{
	memset(s, 0, sizeof(*s));
	fake_init(&s->fake, NULL);
	fake_add_jvm(&s->fake, collector);
	assert_int_equal(
	    hsperf_page_open_fd(&s->page, s->fake.fd, geteuid(), 42, s->why),
	    0);
	assert_string_equal(sweep(s), "");
}

static void
stage_fini(struct stage *s)
{
	hsperf_page_free(&s->page);
	fake_fini(&s->fake);
}

static const struct pause_edge *
edge(const struct stage *s, unsigned i)
{
	assert_true(i < s->edges.count);
	return &s->edges.edge[i];
}

/* What a JVM does, and after each "=" what a sweep then sees: "S" a safepoint
 * begins, "s" it ends; "G0" a collection of the first collector begins, "g0"
 * ends; "x0" that collector is left, but not the collection. */
static void
play(struct stage *s, const char *script, const char *cause, const char *seen)
{
	const char *at = script;

	for (; *at != '\0'; at++, s->ticks += 1000000)
		switch (*at) {
		case 'S':
			fake_safepoint_begin(&s->fake);
			break;
		case 's':
			fake_safepoint_end(&s->fake, 2000500);
			break;
		case 'G':
			fake_gc_begin(&s->fake, *++at - '0', cause, s->ticks);
			break;
		case 'g':
			fake_gc_end(&s->fake, *++at - '0', s->ticks);
			break;
		case 'x':
			fake_set(&s->fake,
			    HSPERF_OF_COLLECTOR(*++at - '0', EXIT), s->ticks);
			break;
		}
	assert_string_equal(sweep(s), seen);
}

/* Goal: each step of a collection shows at its own sweep, in all collectors
 * that stop the world, with the cause; what begins and ends between two sweeps
 * is seen; a young collection that turns into a full one in the same safepoint
 * is one pause; G1's remark, which sets no cause, is a collection. */
TEST(test_steps)
{
	static const struct {
		const char *collector, *cause;
		enum talechain_cause want;
		struct {
			const char *does, *seen;
		} step[8];
	} plays[] = {
	    {"Serial", "Allocation Failure", TALECHAIN_CAUSE_ALLOCATION,
		{{"S", "S"}, {"", ""}, {"G0", "G"}, {"", ""}, {"g0", "g"},
		    {"s", "s"}, {"", ""}}},
	    {"Parallel", "System.gc()", TALECHAIN_CAUSE_EXPLICIT,
		{{"S", "S"}, {"G0", "G"}, {"g0", "g"}, {"s", "s"}}},
	    {"G1", "G1 Evacuation Pause", TALECHAIN_CAUSE_ALLOCATION,
		{{"S", "S"}, {"G0", "G"}, {"g0", "g"}, {"s", "s"}}},
	    {"G1", NULL, TALECHAIN_CAUSE_NOT_GC, {{"S", "S"}, {"s", "s"}}},
	    {"Serial", "Allocation Failure", TALECHAIN_CAUSE_ALLOCATION,
		{{"SG0g0s", "SGgs"}, {"SG0g0sSG0g0sSG0g0s", "SGgsSGgsSGgs"},
		    {"SG0", "SG"}, {"g0sSG1g1sSG0", "gsSGgsSG"},
		    {"g0s", "gs"}}},
	    {"Parallel", "Allocation Failure", TALECHAIN_CAUSE_ALLOCATION,
		{{"SG0", "SG"}, {"x0", ""}, {"G1", ""}, {"g1s", "gs"},
		    {"SG0x0G1g1s", "SGgs"}}},
	    {"G1", NULL, TALECHAIN_CAUSE_CONCURRENT,
		{{"S", "S"}, {"G2", "G"}, {"g2", "g"}, {"s", "s"}}},
	};
	struct stage s;
	char text[64];

	for (size_t i = 0; i < COUNT(plays); i++) {
		stage_init(&s, plays[i].collector);
		snprintf(text, sizeof(text), "hsperfdata of OpenJDK 17, %s",
		    plays[i].collector);
		assert_string_equal(s.page->text, text);
		assert_int_equal(s.page->periodic_ms, 7000);
		for (unsigned k = 0; plays[i].step[k].does != NULL; k++) {
			play(&s, plays[i].step[k].does, plays[i].cause,
			    plays[i].step[k].seen);
			if (strlen(plays[i].step[k].seen) == 1 &&
			    strcmp(plays[i].step[k].seen, "S") != 0)
				assert_int_equal(
				    edge(&s, 0)->cause, plays[i].want);
		}
		stage_fini(&s);
	}
}

/* Goal: ZGC's and Shenandoah's cycles are none, their stalls are; and their
 * collectors' counters, which flip at every phase, are not taken for pauses. */
TEST(test_concurrent)
{
	struct stage s;

	stage_init(&s, "ZGC");
	fake_set_cause(&s.fake, "Allocation Rate");
	fake_safepoint_begin(&s.fake);
	fake_safepoint_end(&s.fake, 10);
	fake_gc_begin(&s.fake, 2, NULL, 100);
	assert_string_equal(sweep(&s), "Ss");
	fake_set(&s.fake, HSPERF_COLLECTOR_2_EXIT, 110);
	assert_string_equal(sweep(&s), "");
	fake_set_cause(&s.fake, "Allocation Stall");
	assert_string_equal(sweep(&s), "G");
	assert_int_equal(edge(&s, 0)->cause, TALECHAIN_CAUSE_ALLOCATION_STALL);
	/* Safepoints within the cycle do not split it. */
	fake_safepoint_begin(&s.fake);
	assert_string_equal(sweep(&s), "S");
	fake_safepoint_end(&s.fake, 10);
	assert_string_equal(sweep(&s), "s");
	fake_set_cause(&s.fake, "No GC");
	assert_string_equal(sweep(&s), "g");
	stage_fini(&s);

	stage_init(&s, "Shenandoah");
	fake_gc_begin(&s.fake, 1, "Concurrent GC", 100);
	assert_string_equal(sweep(&s), "");
	fake_set_cause(&s.fake, "Allocation Failure");
	assert_string_equal(sweep(&s), "G");
	assert_int_equal(edge(&s, 0)->cause, TALECHAIN_CAUSE_ALLOCATION_STALL);
	fake_set_cause(&s.fake, "No GC");
	assert_string_equal(sweep(&s), "g");
	stage_fini(&s);
}

/* Goal: a cause caught half-written is read again until it is whole. */
TEST(test_half_written_cause)
{
	struct stage s;
	char *cause;

	stage_init(&s, "G1");
	cause = (char *)s.fake.map + s.fake.at[HSPERF_CAUSE];
	fake_safepoint_begin(&s.fake);
	memcpy(cause, "G1 Hu", 5); /* "G1 Hu\0": over "No GC\0" */
	assert_string_equal(sweep(&s), "SG");
	assert_int_equal(edge(&s, 1)->cause, TALECHAIN_CAUSE_OTHER);
	strcpy(cause, "G1 Humongous Allocation");
	assert_string_equal(sweep(&s), "");
	assert_int_equal(s.page->cause, TALECHAIN_CAUSE_HUMONGOUS);
	strcpy(cause, "No GC");
	fake_safepoint_end(&s.fake, 1);
	assert_string_equal(sweep(&s), "gs");
	stage_fini(&s);
}

/* Goal: every stamp lies between the sweep before and this one, even when
 * the page's ticks are nonsense. */
TEST(test_stamps)
{
	static const uint64_t ticks[] = {
	    1, UINT64_MAX, 5, INT64_MAX, 0, 1000000000, UINT64_MAX / 2};
	struct instant before, after;
	struct stage s;
	unsigned i, k;

	stage_init(&s, "Serial");
	for (i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		before = s.page->swept;
		fake_safepoint_begin(&s.fake);
		fake_gc_begin(&s.fake, 0, "System.gc()", ticks[i]);
		fake_gc_end(&s.fake, 0, ticks[i] + 1);
		fake_safepoint_end(&s.fake, ticks[i]);
		sweep(&s);
		after = instant_now();
		for (k = 0; k < s.edges.count; k++) {
			assert_false(instant_before(edge(&s, k)->at, before));
			assert_false(instant_before(after, edge(&s, k)->at));
			assert_true(edge(&s, k)->latency_ns >= 0);
		}
	}
	stage_fini(&s);
}

/* Goal: with honest ticks the begin of an unseen collection is found to
 * within the delay of the sweeps that taught it. */
TEST(test_ticks_are_learnt)
{
	struct instant start = instant_now(), now;
	struct stage s;
	uint64_t entry;
	unsigned i;

	stage_init(&s, "Serial");
	for (i = 0; i < 100; i++) {
		now = instant_now();
		entry = (uint64_t)instant_since(now, start);
		fake_safepoint_begin(&s.fake);
		fake_gc_begin(&s.fake, 0, "System.gc()", entry);
		assert_string_equal(sweep(&s), "SG");
		/* Never before it happened; after it only by a sweep. */
		assert_true(edge(&s, 1)->at.ns >= now.ns);
		fake_gc_end(
		    &s.fake, 0, (uint64_t)instant_since(instant_now(), start));
		fake_safepoint_end(&s.fake, 1);
		assert_string_equal(sweep(&s), "gs");
	}
	assert_true(s.page->pause.start_ns >= (int64_t)start.ns);
	/* The best of a hundred is far below a millisecond on any machine. */
	assert_true(s.page->pause.start_ns - (int64_t)start.ns < NS_PER_MS);
	stage_fini(&s);
}

/* What is seen of a heap after some time; false: it is not visible. */
static bool
heap(struct stage *s, struct instant *now, uint64_t agent_bytes, uint64_t *used)
{
	struct hsperf_heap h = {0};

	*now = instant_plus(*now, NS_PER_S);
	hsperf_page_heap(s->page, *now, agent_bytes, &h);
	*used = h.word[PROFILER_HEAP_EDEN_USED];
	return h.collector != 0;
}

/* Goal: what is used is shown where it is measured: where the JVM samples it,
 * or by its agent; a number that never moves is none. */
TEST(test_heap)
{
	static const char *const collector[] = {"Serial", "Parallel", "G1"};
	struct instant now = instant_now();
	uint64_t used, *ticks, *eden;
	struct stage s;

	for (unsigned i = 0; i < 3; i++) {
		memset(&s, 0, sizeof(s));
		fake_init(&s.fake, NULL);
		fake_add_jvm(&s.fake, collector[i]);
		fake_add_long(
		    &s.fake, "sun.gc.generation.0.space.0.capacity", 1000);
		fake_add_long(&s.fake, "sun.gc.generation.0.space.0.used", 300);
		fake_add_long(&s.fake, "sun.gc.generation.0.space.1.used", 40);
		fake_add_long(&s.fake, "sun.gc.generation.1.space.0.used", 60);
		assert_int_equal(hsperf_page_open_fd(
				     &s.page, s.fake.fd, geteuid(), 42, s.why),
		    0);
		ticks = (void *)(s.fake.map + s.page->ticks_at);
		eden = (void *)(s.fake.map +
				s.page->heap_at[PROFILER_HEAP_EDEN_USED]);
		/* One look at it is none at its moving. */
		assert_int_equal(heap(&s, &now, 0, &used), i == 2);
		*ticks += 1;
		assert_true(heap(&s, &now, 0, &used));
		assert_int_equal(used, 300);
		/* No longer sampled. */
		for (unsigned k = 0; k < 10; k++)
			heap(&s, &now, 0, &used);
		assert_int_equal(heap(&s, &now, 0, &used), i == 2);
		assert_true(heap(&s, &now, 750, &used));
		assert_int_equal(used, i == 2 ? 300 : 650);
		*eden = 500;
		heap(&s, &now, 10, &used);
		assert_int_equal(used, i == 2 ? 500 : 0);
		stage_fini(&s);
	}
}

/* Goal: eden's size is that at which G1 collects: a young generation of 25
 * regions, 20 of them survivors, is shown as 27 by JDK 17, and has 5. */
TEST(test_eden_of_g1)
{
	static const struct {
		const char *collector;
		unsigned java;
		uint64_t shown, survivors, eden; /* MiB */
	} rows[] = {
	    {"G1", 17, 202, 0, 192},
	    {"G1", 17, 7, 20, 5},
	    {"G1", 17, 17, 10, 15},
	    {"G1", 17, 1, 40, 1},
	    {"G1", 17, 7, UINT64_MAX >> 20, 7}, /* nonsense */
	    {"G1", 25, 5, 20, 5},
	    {"Parallel", 17, 202, 0, 202},
	};
	struct instant now = instant_now();
	struct hsperf_heap h;
	struct stage s;

	for (size_t i = 0; i < COUNT(rows); i++) {
		memset(&s, 0, sizeof(s));
		memset(&h, 0, sizeof(h));
		fake_init(&s.fake, NULL);
		fake_add_jvm(&s.fake, rows[i].collector);
		fake_add_long(&s.fake, "sun.gc.generation.0.space.0.capacity",
		    (rows[i].shown << 20) + 8);
		fake_add_long(&s.fake, "sun.gc.generation.0.space.0.used", 1);
		fake_add_long(&s.fake, "sun.gc.generation.0.space.2.capacity",
		    (rows[i].survivors << 20) + 8);
		assert_int_equal(hsperf_page_open_fd(
				     &s.page, s.fake.fd, geteuid(), 42, s.why),
		    0);
		s.page->java = rows[i].java;
		now = instant_plus(now, NS_PER_S);
		hsperf_page_heap(s.page, now, 0, &h);
		assert_int_equal(
		    h.word[PROFILER_HEAP_EDEN_CAPACITY] >> 20, rows[i].eden);
		stage_fini(&s);
	}
}

/* Goal: while a JVM starts its page has no arguments: its command line has. */
TEST(test_attach_to_one_that_starts)
{
	struct stage s;
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (pid == 0) {
			execl("/bin/sh", "sh", "-c", "kill -STOP $$",
			    i ? "-Xmx1g" : "-XX:+DisableAttachMechanism", NULL);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
		memset(&s, 0, sizeof(s));
		fake_init(&s.fake, NULL);
		assert_int_equal(hsperf_page_open_fd(
				     &s.page, s.fake.fd, geteuid(), pid, s.why),
		    0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_int_equal(s.page->no_attach == NULL, i);
		stage_fini(&s);
	}
}

/* Goal: a JVM that answers SIGQUIT by a thread dump is known by its arguments,
 * by its command line where these are cut, and not taken for one else. */
TEST(test_attach)
{
	static const struct {
		const char *arguments;
		bool attaches;
	} cases[] = {
	    {"-Xmx1g", true},
	    {"-Xmx1g -XX:+DisableAttachMechanism -Xms1g", false},
	    {"-XX:-DisableAttachMechanism", true},
	};
	char text[1100];
	struct stage s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&s, 0, sizeof(s));
		fake_init(&s.fake, NULL);
		fake_add_text(
		    &s.fake, "java.rt.vmArgs", cases[i].arguments, 64);
		assert_int_equal(hsperf_page_open_fd(&s.page, s.fake.fd,
				     geteuid(), getpid(), s.why),
		    0);
		assert_int_equal(s.page->no_attach == NULL, cases[i].attaches);
		stage_fini(&s);
	}
	/* As a JVM with more of them: of process 0 nothing else is known. */
	memset(text, 'x', sizeof(text));
	text[1023] = '\0';
	for (int i = 0; i < 2; i++) {
		memset(&s, 0, sizeof(s));
		fake_init(&s.fake, NULL);
		fake_add_text(&s.fake, "java.rt.vmArgs", text, 1025);
		assert_int_equal(hsperf_page_open_fd(&s.page, s.fake.fd,
				     geteuid(), i * getpid(), s.why),
		    0);
		assert_int_equal(s.page->no_attach == NULL, i);
		stage_fini(&s);
	}
}

/* Goal: counters that appear later make the page stale; a new one of the
 * same JVM goes on where the old one stopped. */
TEST(test_added_counters)
{
	struct hsperf_page *next;
	struct stage s;

	stage_init(&s, "G1");
	assert_false(hsperf_page_is_stale(s.page));
	fake_safepoint_begin(&s.fake);
	fake_gc_begin(&s.fake, 0, "G1 Evacuation Pause", 5);
	assert_string_equal(sweep(&s), "SG");
	fake_add_long(&s.fake, "sun.later.counter", 1);
	assert_true(hsperf_page_is_stale(s.page));
	assert_int_equal(
	    hsperf_page_open_fd(&next, s.fake.fd, geteuid(), 42, s.why), 0);
	assert_false(hsperf_page_is_stale(next));
	hsperf_page_continue(next, s.page);
	hsperf_page_free(&s.page);
	s.page = next;
	assert_string_equal(sweep(&s), "");
	fake_gc_end(&s.fake, 0, 6);
	fake_safepoint_end(&s.fake, 2);
	assert_string_equal(sweep(&s), "gs");
	stage_fini(&s);
}

/* Goal: a file cut short under the mapping marks the page as dead. */
TEST(test_cut_short)
{
	struct stage s;

	stage_init(&s, "Serial");
	fake_safepoint_begin(&s.fake);
	assert_string_equal(sweep(&s), "S");
	assert_int_equal(ftruncate(s.fake.fd, 0), 0);
	assert_string_equal(sweep(&s), "");
	assert_true(hsperf_page_is_dead(s.page));
	assert_string_equal(sweep(&s), "");
	stage_fini(&s);
}

/* Goal: what is not to be trusted is refused with the right error. */
TEST(test_refused)
{
	static const struct {
		unsigned at;
		unsigned char byte;
		int err;
	} rows[] = {{7, 0, -EAGAIN}, /* not accessible */
	    {5, 3, -EPROTO},	     /* version */
	    {4, 0, -EPROTO},	     /* byte order */
	    {0, 0, -EPROTO}};	     /* magic */
	struct hsperf_page *page;
	struct stage s;
	uint32_t v;

	stage_init(&s, "Serial");
	hsperf_page_free(&s.page);
#define TRY() hsperf_page_open_fd(&page, s.fake.fd, geteuid(), 42, s.why)
	assert_int_equal(
	    hsperf_page_open_fd(&page, s.fake.fd, geteuid() + 1, 42, s.why),
	    -EACCES);
	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char was = s.fake.map[rows[i].at];

		s.fake.map[rows[i].at] = rows[i].byte;
		assert_int_equal(TRY(), rows[i].err);
		s.fake.map[rows[i].at] = was;
	}
	v = 1000000; /* more entries than there are */
	memcpy(s.fake.map + 28, &v, 4);
	assert_int_equal(TRY(), -EBADMSG);
	v = 60000;
	memcpy(s.fake.map + 24, &v, 4); /* entries outside */
	assert_int_equal(TRY(), -EBADMSG);
	assert_int_equal(ftruncate(s.fake.fd, 10), 0);
	assert_int_equal(TRY(), -EPROTO);
	assert_int_equal(ftruncate(s.fake.fd, 0), 0);
	assert_int_equal(TRY(), -EAGAIN);
	assert_int_equal(ftruncate(s.fake.fd, HSPERF_BYTES_MAX + 1), 0);
	assert_int_equal(TRY(), -EPROTO);
#undef TRY
	fake_fini(&s.fake);
}

/* Goal: the words HotSpot has for causes. */
TEST(test_causes)
{
	assert_true(cause_is_none("No GC"));
	assert_false(cause_is_none("No GCx"));
	assert_int_equal(cause_parse("Metadata GC Threshold", false),
	    TALECHAIN_CAUSE_METADATA);
	assert_int_equal(cause_parse("Heap Dump Initiated GC", false),
	    TALECHAIN_CAUSE_HEAP_DUMP);
	assert_int_equal(
	    cause_parse("Ergonomics", false), TALECHAIN_CAUSE_ERGONOMICS);
	assert_int_equal(cause_parse("", false), TALECHAIN_CAUSE_OTHER);
	assert_int_equal(cause_parse("Allocation Failure", true),
	    TALECHAIN_CAUSE_ALLOCATION_STALL);
}
