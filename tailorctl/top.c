/*
 * top.c: what costs most time: causes and paths of slow requests (from the
 * daemon), CPUs and wakers (counted in the stream).
 *
 *	cause   time lost to each cause, of the slow requests kept
 *	path    time that slow requests of each path took
 *	cpu     per CPU: switches, how long tasks waited for it, softirqs
 *	waker   per task: how often it made another one runnable
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/field.h"
#include "tailorctl/follow.h"
#include "tailorctl/plain.h"
#include "talechain/events/events.h"

#define ROWS_MAX 4096
#define ROW_NAME 64
#define SHOWN 20
#define TASKS 1024

struct top_row {
	char name[ROW_NAME];
	uint64_t key; /* of counted rows: CPU, task */
	uint64_t count;
	int64_t cost_ns, extra_ns, max_ns;
};

struct top {
	const struct options *options;
	struct top_row row[ROWS_MAX];
	unsigned rows;
	uint64_t others; /* without a row */
	struct {
		uint32_t tid;
		char name[17];
	} task[TASKS]; /* by tid modulo */
};

static struct top_row *
row_named(struct top *t, const char *name)
{
	for (unsigned i = 0; i < t->rows; i++)
		if (strcmp(t->row[i].name, name) == 0)
			return &t->row[i];
	if (t->rows == ROWS_MAX) {
		t->others++;
		return NULL;
	}
	t->row[t->rows] = (struct top_row){0};
	snprintf(t->row[t->rows].name, ROW_NAME, "%s", name);
	return &t->row[t->rows++];
}

static struct top_row *
row_keyed(struct top *t, uint64_t key)
{
	for (unsigned i = 0; i < t->rows; i++)
		if (t->row[i].key == key)
			return &t->row[i];
	if (t->rows == ROWS_MAX) {
		t->others++;
		return NULL;
	}
	t->row[t->rows] = (struct top_row){.key = key};
	return &t->row[t->rows++];
}

static void
add_cost(struct top_row *r, int64_t cost_ns)
{
	if (r == NULL)
		return;
	r->count++;
	r->cost_ns += cost_ns;
	if (cost_ns > r->max_ns)
		r->max_ns = cost_ns;
}

/* --- from the list of slow requests ------------------------------------------ */

static void
add_slow(struct top *t, const cJSON *one)
{
	const char *target = field_text(one, "target");
	const char *cause = field_text(one, "cause");
	char path[ROW_NAME];

	if (t->options->by == TOP_CAUSE) {
		add_cost(row_named(t, cause != NULL ? cause : "-"),
		    field_number(one, "share_ns", 0));
		return;
	}
	snprintf(path, sizeof(path), "%.*s",
	    target != NULL ? (int)strcspn(target, "?") : 1,
	    target != NULL ? target : "-");
	add_cost(row_named(t, path), field_number(one, "total_ns", 0));
}

static int
gather_slow(struct top *t)
{
	char target[64];
	const cJSON *one;
	cJSON *tree;

	snprintf(target, sizeof(target), "/slow?n=1000");
	if (t->options->since_ns > 0)
		snprintf(target, sizeof(target), "/slow?n=1000&since=%lld",
		    (long long)(t->options->since_ns / NS_PER_S));
	tree = admin_json(t->options, target);
	if (tree == NULL)
		return -1;
	cJSON_ArrayForEach(one, field_list(tree, "slow")) add_slow(t, one);
	cJSON_Delete(tree);
	return 0;
}

/* --- from the stream ----------------------------------------------------------- */

static uint64_t
argument(const struct talechain_event *e, const char *name)
{
	struct talechain_value v;

	for (unsigned n = 0; talechain_argument(e, n, &v); n++)
		if (strcmp(v.name, name) == 0)
			return v.value;
	return 0;
}

static void
take_name(struct top *t, const struct talechain_event *e)
{
	uint32_t tid = (uint32_t)e->arg[0];
	char raw[17] = "";

	memcpy(raw, &e->arg[2], 8);
	memcpy(raw + 8, &e->arg[3], 8);
	t->task[tid % TASKS].tid = tid;
	plain_cell(t->task[tid % TASKS].name, sizeof(t->task[0].name), raw, 16);
}

static void
take_cpu(struct top *t, const struct talechain_event *e)
{
	struct top_row *r;
	uint64_t wait_ns;

	if (e->cpu == UINT32_MAX ||
	    (e->type != TALECHAIN_SCHEDULE && e->type != TALECHAIN_SOFTIRQ))
		return;
	r = row_keyed(t, e->cpu);
	if (r == NULL)
		return;
	if (e->type == TALECHAIN_SOFTIRQ) {
		r->extra_ns += (int64_t)(argument(e, "latency_ns") %
					 (uint64_t)(60 * NS_PER_S));
		return;
	}
	wait_ns = argument(e, "wait_ns");
	/* Ignore implausible waits of more than a minute. */
	add_cost(r, wait_ns > 60 * NS_PER_S ? 0 : (int64_t)wait_ns);
}

static void
take_waker(struct top *t, const struct talechain_event *e)
{
	struct top_row *r;

	if (e->type != TALECHAIN_WAKEUP)
		return;
	/* An interrupt wakes in the name of the interrupted task. */
	r = row_keyed(t, (uint64_t)e->tid << 8 | (e->arg[2] >> 32 & 0xff));
	if (r != NULL)
		r->count++;
}

static void
take_event(void *user, const struct timeline_slot *slot)
{
	struct top *t = user;

	if (slot->event.type == TALECHAIN_THREAD)
		take_name(t, &slot->event);
	else if (t->options->by == TOP_CPU)
		take_cpu(t, &slot->event);
	else
		take_waker(t, &slot->event);
}

static void
name_rows(struct top *t)
{
	static const char *const context[] = {"", " softirq", " irq"};

	for (unsigned i = 0; i < t->rows; i++) {
		struct top_row *r = &t->row[i];
		uint32_t tid = (uint32_t)(r->key >> 8);

		if (t->options->by == TOP_CPU) {
			snprintf(r->name, ROW_NAME, "CPU %llu",
			    (unsigned long long)r->key);
			continue;
		}
		snprintf(r->name, ROW_NAME, "%s (%u)%s",
		    t->task[tid % TASKS].tid == tid && tid != 0
			? t->task[tid % TASKS].name
		    : tid == 0 ? "idle"
			       : "task",
		    tid, (r->key & 0xff) < 3 ? context[r->key & 0xff] : "");
	}
}

/* --- showing -------------------------------------------------------------------- */

static int
cost_first(const void *va, const void *vb)
{
	const struct top_row *a = va, *b = vb;

	if (a->cost_ns != b->cost_ns)
		return a->cost_ns < b->cost_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->name, b->name);
}

static const char *const heads[] = {
    [TOP_CAUSE] = "CAUSE                             TIME LOST   LONGEST "
		  "REQUESTS",
    [TOP_PATH] = "PATH                             TIME SPENT   LONGEST "
		 "REQUESTS",
    [TOP_CPU] = "CPU                             WAITED FOR   LONGEST "
		"SWITCHES   SOFTIRQ",
    [TOP_WAKER] = "WAKER                                               "
		  " WAKEUPS",
};

static void
print_table(const struct top *t, unsigned n)
{
	char cost[PLAIN_DURATION_BYTES], most[PLAIN_DURATION_BYTES];
	char extra[PLAIN_DURATION_BYTES], name[ROW_NAME * 2];
	bool waker = t->options->by == TOP_WAKER;

	if (isatty(STDOUT_FILENO) && !t->options->once && !t->options->dump)
		printf("\033[H\033[2J"); /* home, clear */
	printf("%s\n", heads[t->options->by]);
	for (unsigned i = 0; i < n; i++) {
		const struct top_row *r = &t->row[i];

		printf("%-32s %9s %9s %8llu",
		    plain_cell(name, sizeof(name), r->name, 32),
		    waker ? "" : plain_duration(cost, r->cost_ns),
		    waker ? "" : plain_duration(most, r->max_ns),
		    (unsigned long long)r->count);
		if (t->options->by == TOP_CPU)
			printf(" %9s", plain_duration(extra, r->extra_ns));
		putchar('\n');
	}
	if (n == 0)
		printf("nothing%s\n",
		    t->options->by >= TOP_CPU
			? ": events of the kernel are missing (tailorctl "
			  "probe)"
			: "");
}

static int
print_json(const struct top *t, unsigned n)
{
	static const char *const by[] = {"cause", "path", "cpu", "waker"};
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.top/1");
	json_key_string(&j, "by", by[t->options->by]);
	json_key_array(&j, "rows");
	for (unsigned i = 0; i < n; i++) {
		const struct top_row *r = &t->row[i];

		json_object_begin(&j);
		json_key_string(&j, "name", r->name);
		json_key_uint(&j, "count", r->count);
		if (t->options->by != TOP_WAKER) {
			json_key_int(&j, "cost_ns", r->cost_ns);
			json_key_int(&j, "max_ns", r->max_ns);
		}
		if (t->options->by == TOP_CPU)
			json_key_int(&j, "softirq_ns", r->extra_ns);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_key_uint(&j, "not_listed", t->rows - n);
	json_key_uint(&j, "no_room", t->others);
	json_object_end(&j);
	return plain_json(&j);
}

static int
print(struct top *t)
{
	unsigned n =
	    t->options->count > 0 ? (unsigned)t->options->count : SHOWN;

	qsort(t->row, t->rows, sizeof(t->row[0]), cost_first);
	n = n < t->rows ? n : t->rows;
	if (t->options->json ? print_json(t, n) < 0
			     : (print_table(t, n), false))
		return -1;
	/* The next interval starts from zero. */
	t->rows = 0;
	return fflush(stdout);
}

static int
show_events(void *user)
{
	name_rows(user);
	return print(user);
}

static int
run_slow(struct top *t)
{
	const struct options *o = t->options;
	struct timespec pause = {
	    o->interval_ns / NS_PER_S, (long)(o->interval_ns % NS_PER_S)};

	for (;;) {
		if (gather_slow(t) < 0 || print(t) != 0)
			return STATUS_NO;
		if (o->once || o->dump)
			return STATUS_OK;
		nanosleep(&pause, NULL);
	}
}

int
command_top(const struct options *options)
{
	struct top *t = calloc(1, sizeof(*t));
	struct follow f;
	int status = STATUS_NO;

	if (t == NULL)
		return STATUS_NO;
	t->options = options;
	if (options->by == TOP_CAUSE || options->by == TOP_PATH) {
		status = run_slow(t);
	} else if (follow_open(&f, options) == 0) {
		status = follow_run(&f, take_event, show_events, t);
		follow_close(&f);
	}
	free(t);
	return status;
}
