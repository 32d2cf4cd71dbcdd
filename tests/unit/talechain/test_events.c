/*
 * Goal: numbers, names and arguments of events are written down once, cover
 * the thesis's table 4.1, and are the same in C and in Java.
 */
#include "tests/unit/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "talechain/events/events.h"
#include "talechain/events/hazard.h"
#include "talechain/events/termination.h"

static const struct {
	unsigned type;
	const char *symbol;
} types[] = {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) {number, #symbol},
    TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* The text of docs/http.md from its heading about ends on. */
static const char *
ends_page(void)
{
	static char *text;
	size_t size = 0;
	FILE *f = fopen("docs/http.md", "r");

	assert_non_null(f);
	assert_true(getdelim(&text, &size, '\0', f) > 0);
	fclose(f);
	return strstr(text, "## How a request ended");
}

/* Goal: each code is one letter for what and one for where, its own, and both
 * are in the manual; a number that is no code shows as such. */
TEST(test_terminations)
{
	char text[TERMINATION_TEXT], other[TERMINATION_TEXT], word[16];
	const char *page = ends_page();
	unsigned codes = 0;

	assert_non_null(page);
	assert_string_equal(termination_text(0, text), "--");
	assert_true(TERMINATION_COUNT <= UINT8_MAX);
	for (unsigned i = 1; i < 300; i++) {
		if (strcmp(termination_text(i, text), "??") == 0)
			continue;
		codes++;
		assert_int_equal(
		    termination(termination_by(i), termination_place(i)), i);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(
			    termination_text(k, other), text);
		for (unsigned k = 0; k < 2; k++) {
			snprintf(word, sizeof(word), "- `%c` ", text[k]);
			assert_non_null(strstr(page, word));
		}
	}
	assert_int_equal(codes, 33);
}

/* Goal: what each reason for a failure says of who ended the request; a reason
 * that is not known is Tailor's own decision, as all of the gate's are. */
TEST(test_termination_reasons)
{
	static const char *const of[TERMINATION_BY_COUNT] = {
	    [TERMINATION_CLIENT] = "client_gone",
	    [TERMINATION_CLIENT_LATE] =
		"timeout body_too_slow write_timeout tunnel_timeout",
	    [TERMINATION_SERVER] =
		"closed reset refused connect_failed no_server",
	    [TERMINATION_SERVER_LATE] =
		"connect_timeout deadline no_answer queue_timeout",
	    [TERMINATION_PROXY] =
		"host_twice status_line extra_bytes half_open",
	    [TERMINATION_RESOURCE] =
		("no_event no_memory overloaded spool_failed "
		 "spool_full spool_unreadable"),
	    [TERMINATION_KILLED] = "drain_timeout stopped",
	    [TERMINATION_LOCAL] = "talechain",
	};
	char list[128], *rest, *reason;

	for (unsigned by = 0; by < TERMINATION_BY_COUNT; by++) {
		snprintf(list, sizeof(list), "%s", of[by] ? of[by] : "");
		for (reason = strtok_r(list, " ", &rest); reason != NULL;
		     reason = strtok_r(NULL, " ", &rest))
			assert_int_equal(termination_of_reason(reason), by);
	}
}

TEST(test_table)
{
	char name[64];
	size_t i, k;

	for (i = 0; i < TYPES; i++) {
		/* In order, and each once. */
		if (i > 0)
			assert_true(types[i - 1].type < types[i].type);
		assert_true(types[i].type <= UINT16_MAX);
		/* The name is the symbol in lower case. */
		for (k = 0; types[i].symbol[k] != '\0'; k++)
			name[k] = (char)tolower(types[i].symbol[k]);
		name[k] = '\0';
		assert_string_equal(talechain_type_name(types[i].type), name);
	}
	assert_null(talechain_type_name(0));
	assert_null(talechain_type_name(0xffff));
	assert_string_equal(talechain_cause_name(1), "allocation");
	assert_string_equal(talechain_cause_name(13), "ordered");
	assert_string_equal(talechain_cause_name(14), "unknown");
	assert_string_equal(talechain_cause_name(UINT32_MAX), "unknown");
	assert_string_equal(hazard_kind_name(HAZARD_EXIT), "exit");
	assert_string_equal(talechain_call_name(SYS_read, name), "read");
	assert_string_equal(talechain_call_name(SYS_futex, name), "futex");
	assert_string_equal(
	    talechain_call_name(1022, name), "system call 1022");
	assert_string_equal(
	    hazard_kind_name((enum hazard_kind)HAZARD_KIND_COUNT), "unknown");
}

/* Goal: every row of table 4.1 and every field of it has a place. */
TEST(test_thesis)
{
	static const struct {
		enum talechain_type type;
		const char *field[5]; /* as ours; the comment maps them */
	} row[] = {
	    {TALECHAIN_WAKEUP, {"to_tid", "to_pid"}},
	    {TALECHAIN_SCHEDULE,
		{"to_tid", "to_pid", "waker_tid", "waker_pid", "waker_ns"}},
	    {TALECHAIN_SOFTIRQ, {"vector", "latency_ns"}},
	    {TALECHAIN_TCP_RECV, {"cookie", "sequence", "status"}},
	    {TALECHAIN_TCP_XMIT, {"cookie", "sequence", "status"}},
	    {TALECHAIN_TCP_ACK, {"cookie", "sequence", "status"}},
	    {TALECHAIN_PAGEFAULT, {"address", "latency_ns"}},
	    {TALECHAIN_SYSCALL, {"number", "latency_ns", "parameter1",
				    "parameter2", "parameter3"}},
	    {TALECHAIN_PROXY_RECEIVE, {"in_flight", "request"}},
	    {TALECHAIN_PROXY_FINISH, {"in_flight", "request"}},
	    {TALECHAIN_APP_RECEIVE, {"queue_length", "task"}},
	    {TALECHAIN_APP_START, {"queue_length", "task"}},
	    {TALECHAIN_APP_FINISH, {"queue_length", "task"}},
	    {TALECHAIN_JVM_YIELDPOINT, {"kind", "latency_ns"}},
	};
	struct talechain_event e = {0};
	struct talechain_value v;
	size_t i, k;
	unsigned n;

	assert_int_equal(sizeof(row) / sizeof(row[0]), 14);
	for (i = 0; i < 14; i++)
		for (k = 0; k < 5 && row[i].field[k] != NULL; k++) {
			e.type = (uint16_t)row[i].type;
			for (n = 0; talechain_argument(&e, n, &v); n++)
				if (strcmp(v.name, row[i].field[k]) == 0)
					break;
			if (!talechain_argument(&e, n, &v))
				fail_msg("%s has no %s",
				    talechain_type_name(e.type),
				    row[i].field[k]);
		}
}

/* Goal: the values that are found without looking for their names are those
 * of these names, of every type. */
TEST(test_known)
{
	unsigned latencies = 0, requests = 0;

	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		struct talechain_event e = {.type = (uint16_t)type,
		    .arg = {0x0123456789abcdef, 0xfedcba9876543210,
			0x5a5a0ff0a5a5f00f, 0x1122334455667788}};
		uint64_t latency = 0, request = 0, v;
		struct talechain_value value;

		for (unsigned n = 0; talechain_argument(&e, n, &value); n++)
			if (strcmp(value.name, "latency_ns") == 0)
				latency = value.value;
			else if (strcmp(value.name, "request") == 0)
				request = value.value;
		assert_int_equal(
		    talechain_event_latency(&e, &v) ? v : 0, latency);
		assert_int_equal(
		    talechain_event_request(&e, &v) ? v : 0, request);
		latencies += latency != 0;
		requests += request != 0;
	}
	assert_in_range(latencies, 5, 100);
	assert_in_range(requests, 5, 100);
}

/* Goal: packed arguments come apart into exactly what was put in. */
TEST(test_packed)
{
	static const struct {
		enum talechain_type type;
		unsigned n;
		struct talechain_value value;
	} rows[] = {
	    {TALECHAIN_SYSCALL, 0, {"number", 0x0123}},
	    {TALECHAIN_SYSCALL, 1, {"latency_ns", 0x456789abcdef}},
	    {TALECHAIN_SYSCALL, 4, {"parameter3", 0xf178f2b456789abc}},
	    {TALECHAIN_SCHEDULE, 2, {"waker_pid", 0xfedcba98}},
	    {TALECHAIN_SCHEDULE, 3, {"waker_tid", 0x76543210}},
	    {TALECHAIN_SCHEDULE, 5, {"off", 0x3c}},
	    {TALECHAIN_SCHEDULE, 6, {"batch", 0}},
	    {TALECHAIN_SCHEDULE, 7, {"to_batch", 1}},
	    {TALECHAIN_SCHEDULE, 8, {"to_priority", 0x78}},
	    {TALECHAIN_SCHEDULE, 9, {"call", 0x3ca}},
	    {TALECHAIN_SCHEDULE, 10, {"whole", 1}},
	    {TALECHAIN_SCHEDULE, 11, {"wait_ns", 0x1456789abc}},
	    {TALECHAIN_SYSCALL, 5, {"", 0}},
	    {TALECHAIN_SCHEDULE, 12, {"", 0}},
	    {(enum talechain_type)0x7777, 0, {"", 0}},
	};
	struct talechain_event e = {
	    .arg = {
		0x0123456789abcdef, 0xfedcba9876543210, 3, 0xf178f2b456789abc}};
	struct talechain_value v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		e.type = (uint16_t)rows[i].type;
		assert_int_equal(talechain_argument(&e, rows[i].n, &v),
		    rows[i].value.name[0] != '\0');
		if (rows[i].value.name[0] == '\0')
			continue;
		assert_string_equal(v.name, rows[i].value.name);
		assert_int_equal(v.value, rows[i].value.value);
	}
}

/* Goal: the Java emitter's constants are the C table's, no more, no fewer. */
TEST(test_java)
{
	FILE *f = fopen("talechain/TaleChain.java", "r");
	char line[256], symbol[64];
	size_t i, found = 0;
	unsigned number;

	if (f == NULL)
		fail_msg("run from the top of the source tree");
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line,
			" public static final int %63[A-Z0-9_] = 0x%x;", symbol,
			&number) != 2)
			continue;
		for (i = 0; i < TYPES; i++)
			if (strcmp(types[i].symbol, symbol) == 0)
				break;
		if (i == TYPES)
			fail_msg("%s is not in the C table", symbol);
		assert_int_equal(number, types[i].type);
		found++;
	}
	fclose(f);
	assert_int_equal(found, TYPES);
}
