/* top.c: what costs most time: causes and paths of slow requests (from the
 * daemon), CPUs and wakers (counted in the stream).
 *
 *	cause   time lost to each cause, of the slow requests kept
 *	path    time that slow requests of each path took
 *	cpu     per CPU: switches, how long tasks waited for it, softirqs
 *	waker   per task: how often it made another one runnable */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/field.h"
#include "tailorctl/follow.h"
#include "tailorctl/overview.h"
#include "tailorctl/plain.h"
#include "tailorctl/screen.h"
#include "talechain/events/events.h"

#define ROWS_MAX 4096
#define ROW_NAME 64
#define SHOWN 20
#define FRAME_ROWS 5 /* above and below the rows of the table */
#define TASKS 1024

struct top_row {
	char name[ROW_NAME];
	uint64_t key; /* of counted rows: CPU, task */
	uint64_t count;
	int64_t cost_ns, extra_ns, max_ns;
};

/* What the rows are sorted by. */
enum order { BY_COST, BY_LONGEST, BY_COUNT, ORDERS };

struct top {
	const struct options *options;
	enum order order;
	struct overview overview;
	struct top_row row[ROWS_MAX];
	unsigned rows;
	bool shown;	 /* as a whole interval */
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

/* --- from the list of slow requests --------------------------------------- */

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

/* --- from the stream ------------------------------------------------------ */

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

	if (slot->event.type != TALECHAIN_THREAD && screen_paused())
		return;
	if (t->shown)
		t->rows = 0; /* the next interval starts from zero */
	t->shown = false;
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

/* --- showing -------------------------------------------------------------- */

static int
descending(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

static int
first(const void *va, const void *vb, void *user)
{
	const struct top_row *a = va, *b = vb;
	const int by[ORDERS] = {
	    [BY_COST] = descending(a->cost_ns, b->cost_ns),
	    [BY_LONGEST] = descending(a->max_ns, b->max_ns),
	    [BY_COUNT] = descending((int64_t)a->count, (int64_t)b->count),
	};
	const enum order *order = user;

	if (by[*order] != 0)
		return by[*order];
	if (by[BY_COST] != 0)
		return by[BY_COST];
	return by[BY_COUNT] != 0 ? by[BY_COUNT] : strcmp(a->name, b->name);
}

/* Heads of the columns; an empty one has no column. */
static const struct {
	const char *name, *cost, *longest, *count, *extra;
} heads[] = {
    [TOP_CAUSE] = {"CAUSE", "TIME LOST", "LONGEST", "REQUESTS", ""},
    [TOP_PATH] = {"PATH", "TIME SPENT", "LONGEST", "REQUESTS", ""},
    [TOP_CPU] = {"CPU", "WAITED FOR", "LONGEST", "SWITCHES", "SOFTIRQ"},
    [TOP_WAKER] = {"WAKER", "", "", "WAKEUPS", ""},
};
#define NAME_COLUMNS 31

static void
print_heads(const struct top *t, unsigned columns)
{
	enum top_kind by = t->options->by;

	printf("%s%-*s %10s %9s %8s", plain_escape(TERMINAL_BOLD), (int)columns,
	    heads[by].name, heads[by].cost, heads[by].longest, heads[by].count);
	if (heads[by].extra[0] != '\0')
		printf(" %9s", heads[by].extra);
	printf("%s\n", plain_escape(TERMINAL_PLAIN));
}

static void
print_row(const struct top *t, const struct top_row *r, unsigned columns)
{
	char cost[PLAIN_DURATION_BYTES], most[PLAIN_DURATION_BYTES];
	char extra[PLAIN_DURATION_BYTES];
	bool waker = t->options->by == TOP_WAKER;

	plain_print_cell(r->name, columns, TERMINAL_PLAIN);
	printf("%10s %9s %8llu", waker ? "" : plain_duration(cost, r->cost_ns),
	    waker ? "" : plain_duration(most, r->max_ns),
	    (unsigned long long)r->count);
	if (t->options->by == TOP_CPU)
		printf(" %9s", plain_duration(extra, r->extra_ns));
	putchar('\n');
}

/* A path may be longer than a cause: a wide terminal has room for it. */
static unsigned
top_columns(void)
{
	unsigned columns = NAME_COLUMNS + plain_spare();

	return columns < ROW_NAME ? columns : ROW_NAME;
}

static void
print_table(const struct top *t, unsigned n)
{
	static const char *const next[ORDERS] = {
	    "s sort by the longest", "s sort by count", "s sort by time"};

	screen_begin();
	if (t->overview.mode[0] != '\0')
		overview_print(&t->overview);
	print_heads(t, top_columns());
	for (unsigned i = 0; i < n; i++)
		print_row(t, &t->row[i], top_columns());
	if (n == 0)
		printf("nothing%s\n",
		    t->options->by >= TOP_CPU
			? ": events of the kernel are missing (tailorctl "
			  "probe)"
			: "");
	screen_hint(next[t->order]);
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
	if (t->overview.mode[0] != '\0')
		overview_write(&t->overview, &j);
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
	uint32_t rows = screen_rows();

	qsort_r(t->row, t->rows, sizeof(t->row[0]), first, &t->order);
	if (rows < UINT32_MAX && n + FRAME_ROWS > rows)
		n = rows > FRAME_ROWS ? rows - FRAME_ROWS : 1;
	n = n < t->rows ? n : t->rows;
	if (t->options->json ? print_json(t, n) < 0
			     : (print_table(t, n), false))
		return -1;
	return fflush(stdout);
}

/* The overview needs a tailor; a stream's file does not. */
static int
read_overview(struct top *t)
{
	return t->options->stream != NULL
		   ? 0
		   : overview_read(&t->overview, t->options);
}

static void
press(struct top *t, int key)
{
	if (key == 's')
		t->order = (t->order + 1) % ORDERS;
}

static int
show_events(void *user, int key)
{
	struct top *t = user;

	press(t, key);
	if (key == 0 && read_overview(t) < 0)
		return -1;
	name_rows(t);
	t->shown |= key == 0;
	return print(t);
}

static int
run_slow(struct top *t)
{
	const struct options *o = t->options;
	int key = 0;

	while (key != SCREEN_QUIT) {
		bool read = key == 0 && !screen_paused();

		press(t, key);
		if (read)
			t->rows = 0;
		if (read && (read_overview(t) < 0 || gather_slow(t) < 0))
			return STATUS_NO;
		if (print(t) != 0)
			return STATUS_NO;
		if (o->once || o->dump)
			return STATUS_OK;
		key = screen_wait(o->interval_ns);
	}
	return STATUS_OK;
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
		screen_open(options);
		status = run_slow(t);
	} else if (follow_open(&f, options) == 0) {
		screen_open(options);
		status = follow_run(&f, take_event, show_events, t);
		follow_close(&f);
	}
	free(t);
	return status;
}
