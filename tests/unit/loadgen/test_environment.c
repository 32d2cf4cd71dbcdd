/* Goal: each disturbance is named when it is there, and only then. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/stats/environment.h"

static struct environment e;
static struct host quiet = {
    .cpus = 8, .governor = "performance", .isolated = "3-4", .load = 0.3};

static bool
said(const char *part)
{
	for (unsigned i = 0; i < e.count; i++) {
		if (strstr(e.notes[i], part) != NULL)
			return true;
	}
	return false;
}

static cpu_set_t
one(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

/* Goal: nothing is said of a machine made for this. */
TEST(test_quiet)
{
	cpu_set_t three = one(3);
	cpu_set_t seven = one(7);
	struct host unknown = {.cpus = 8, .load = -1};

	environment_describe(&e, &quiet, &three, true, 0.5);
	assert_int_equal(e.count, 0);
	environment_describe(&e, &unknown, &seven, false, 0);
	assert_int_equal(e.count, 0);
}

/* Goal: each is named with its figure. */
TEST(test_each)
{
	cpu_set_t seven = one(7);
	cpu_set_t none;
	struct host h = quiet;

	CPU_ZERO(&none);
	environment_describe(&e, &h, &seven, true, 0);
	assert_int_equal(e.count, 1);
	assert_true(said("sender's CPU 7"));
	environment_describe(&e, &h, &none, true, 0);
	assert_int_equal(e.count, 1);
	assert_true(said("no CPU of its own"));
	strcpy(h.governor, "powersave");
	h.load = 4.26;
	environment_describe(&e, &h, &none, true, 12.4);
	assert_int_equal(e.count, 4);
	assert_true(said("governor powersave"));
	assert_true(said("4.3 on 8 CPUs"));
	assert_true(said("12 times an iteration"));
}

/* Goal: what to change follows what was observed, and is silent if all is
   good; with all notes there is room, and no line is wider than 80 columns. */
TEST(test_advice)
{
	cpu_set_t none;
	struct host h = {.cpus = 2, .governor = "powersave", .load = 5};
	struct plan plan = {.spin = true};
	struct verdict v = {.level = VERDICT_GOOD,
	    .waited = 3,
	    .cpu_pct = 99,
	    .hiccups.spin_max_ns = 7 * NS_PER_MS};
	char *text = NULL;
	size_t length = 0;

	CPU_ZERO(&none);
	e.count = 0;
	environment_advise(&e, &plan, &v, false);
	assert_int_equal(e.count, 0);
	environment_advise(
	    &e, &plan, &(struct verdict){.level = VERDICT_DOUBTFUL}, true);
	assert_int_equal(e.count, 1);
	assert_true(said("no disturbance was seen"));
	environment_describe(&e, &h, &none, true, 12.4);
	v.level = VERDICT_BAD;
	plan.spin = false;
	environment_advise(&e, &plan, &v, false);
	environment_ports_used_up(&e);
	assert_int_equal(e.count, ENVIRONMENT_NOTES_MAX);
	assert_true(said("net.ipv4.ip_local_port_range"));
	assert_true(said("3 requests waited for a connection"));
	assert_true(said("leave out --no-spin"));
	assert_true(said("lower --rate, or share"));
	assert_true(said("--priority"));
	assert_true(said("stalled for 7.00ms"));
	FILE *f = open_memstream(&text, &length);
	assert_non_null(f);
	environment_print(&e, false, f);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(text, "  disturbance: the machine was busy"));
	assert_non_null(strstr(text, "  try: leave out --no-spin"));
	for (char *rest = text, *row; (row = strsep(&rest, "\n")) != NULL;)
		assert_true(strlen(row) <= 80);
	free(text);
}
