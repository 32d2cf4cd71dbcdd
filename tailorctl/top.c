/* top.c: shows what costs most time: causes and paths of slow requests and
 * latencies of all (from the daemon); CPUs and wakers (from the stream).
 *
 *	cause   time lost to each cause, of the slow requests kept
 *	path    time that slow requests of each path took
 *	latency a histogram of the last ten minutes
 *	cpu     per CPU: switches, how long tasks waited for it, softirqs
 *	waker   per task: how often it made another one runnable */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/terminal.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/follow.h"
#include "tailorctl/options.h"
#include "tailorctl/screen.h"
#include "talechain/events/events.h"

/* --- the head ------------------------------------------------------------- */

/* A running tailor in two lines, the head of the display.
 *
 * From /live.json: its newest slices of ten seconds, so rates and latencies
 * are those of the last 10 to 20 s. */
struct overview {
	char mode[16], active[80], others[96];
	int64_t uptime_ns;
	int64_t inflight, swaps;
	double rate_per_s, again_per_s; /* requests; those sent twice */
	/* upper bounds; -1: no request, INT64_MAX: beyond all buckets */
	int64_t p50_ns, p99_ns;
};

#define SLICES 2
#define BUCKETS_MAX 64

struct overview_counts {
	int64_t requests, again, over_ns; /* that long */
	int64_t bucket[BUCKETS_MAX];
};

/* Add up the last slices of the list, if they are recent. */
static void
count(struct overview_counts *c, const cJSON *tree)
{
	const cJSON *slices = field_list(tree, "slices"), *one;
	int64_t slice_ns = field_number(tree, "slice_ns", 10 * NS_PER_S);
	int64_t uptime_ns = field_number(tree, "uptime_ns", 0);
	int64_t now_ns = 0; /* time since the present slice began */

	cJSON_ArrayForEach(one, slices)
	{
		int64_t ago_ns = field_number(one, "began_ago_ns", INT64_MAX);
		const cJSON *n;
		unsigned i = 0;

		if (slice_ns > 0)
			now_ns = ago_ns % slice_ns;
		if (ago_ns >= SLICES * slice_ns)
			continue;
		c->requests += field_number(one, "requests", 0);
		c->again += field_number(one, "again", 0);
		cJSON_ArrayForEach(n, field_list(one, "latency"))
		{
			if (i < BUCKETS_MAX && cJSON_IsNumber(n))
				c->bucket[i++] += (int64_t)n->valuedouble;
		}
	}
	c->over_ns = slice_ns * (SLICES - 1) + now_ns;
	if (uptime_ns < c->over_ns)
		c->over_ns = uptime_ns;
}

/* Return the bucket edge below which this part of the requests is. */
static int64_t
under(const struct overview_counts *c, const cJSON *tree, double part)
{
	const cJSON *one;
	int64_t below = 0;
	unsigned i = 0;

	if (c->requests == 0)
		return -1;
	cJSON_ArrayForEach(one, field_list(tree, "latency"))
	{
		below += i < BUCKETS_MAX ? c->bucket[i++] : 0;
		if ((double)below >= part * (double)c->requests)
			return field_number(one, "to_ns", INT64_MAX);
	}
	return -1;
}

static void
read_servers(struct overview *o, const cJSON *tree)
{
	const cJSON *s;

	cJSON_ArrayForEach(s, field_list(tree, "servers"))
	{
		const char *name = plain_cell(field_text(s, "name"), 16);
		const char *state = plain_cell(field_text(s, "state"), 10);

		if (field_true(s, "active"))
			snprintf(
			    o->active, sizeof(o->active), "%s %s", name, state);
		else
			text_append(o->others, sizeof(o->others),
			    "  backup %s %s", name, state);
	}
}

/* 0, or -1 after a message. */
static int
overview_read(struct overview *o, const struct ctl_options *options)
{
	cJSON *tree = admin_json(options, "/live.json");
	struct overview_counts c = {0};

	*o = (struct overview){.active = "-"};
	if (tree == NULL)
		return -1;
	count(&c, tree);
	snprintf(o->mode, sizeof(o->mode), "%s",
	    plain_cell(field_text(tree, "mode"), 8));
	o->uptime_ns = field_number(tree, "uptime_ns", -1);
	o->inflight = field_number(tree, "inflight", 0);
	o->swaps = field_number(tree, "swaps", 0);
	if (c.over_ns > 0) {
		o->rate_per_s = (double)c.requests * 1e9 / (double)c.over_ns;
		o->again_per_s = (double)c.again * 1e9 / (double)c.over_ns;
	}
	o->p50_ns = under(&c, tree, 0.5);
	o->p99_ns = under(&c, tree, 0.99);
	read_servers(o, tree);
	cJSON_Delete(tree);
	return 0;
}

static const char *
bound(int64_t ns)
{
	if (ns == INT64_MAX)
		return ">50s";
	if (ns < 0)
		return "-";
	return plain_format("<%s", plain_duration(ns));
}

/* "45s", "12min", "3.2h", "9.1d" */
static void
print_uptime(int64_t ns)
{
	static const struct {
		double seconds, from;
		const char *name;
	} unit[] = {{86400, 2 * 86400, "d"}, {3600, 7200, "h"},
	    {60, 120, "min"}, {1, 0, "s"}};
	double seconds = (double)ns / 1e9;
	unsigned i = 0;

	while (i < 3 && seconds < unit[i].from)
		i++;
	printf("%.*f%s", i < 2, seconds / unit[i].seconds, unit[i].name);
}

static void
overview_print(const struct overview *o)
{
	printf("%smode %s  up ", plain_escape(TERMINAL_BOLD), o->mode);
	print_uptime(o->uptime_ns);
	printf("  active %s%s%s\n", o->active, o->others,
	    plain_escape(TERMINAL_PLAIN));
	printf("%s/s  p50 %s  p99 %s  in flight %lld  hedges %s/s  swaps "
	       "%lld\n\n",
	    plain_rate(o->rate_per_s), bound(o->p50_ns), bound(o->p99_ns),
	    (long long)o->inflight, plain_rate(o->again_per_s),
	    (long long)o->swaps);
}

static void
overview_write(const struct overview *o, struct json *j)
{
	json_key_object(j, "overview");
	json_key_string(j, "mode", o->mode);
	json_key_int(j, "uptime_ns", o->uptime_ns);
	json_key_double(j, "requests_per_s", o->rate_per_s);
	json_key_double(j, "hedges_per_s", o->again_per_s);
	if (o->p50_ns >= 0 && o->p50_ns < INT64_MAX)
		json_key_int(j, "p50_under_ns", o->p50_ns);
	if (o->p99_ns >= 0 && o->p99_ns < INT64_MAX)
		json_key_int(j, "p99_under_ns", o->p99_ns);
	json_key_int(j, "inflight", o->inflight);
	json_key_int(j, "swaps", o->swaps);
	json_object_end(j);
}

/* --- rows ----------------------------------------------------------------- */

#define ROWS_MAX 4096
#define ROW_NAME 64
#define SHOWN 20
#define FRAME_ROWS 5 /* above and below the rows of the table */
#define TASKS 1024
#define BAR 62 /* columns of a bar, at most */

struct top_row {
	char name[ROW_NAME];
	uint64_t key; /* of counted rows: CPU, task */
	uint64_t count;
	int64_t cost_ns, extra_ns, max_ns;
};

/* The columns that rows are sorted by. */
enum order { BY_COST, BY_LONGEST, BY_COUNT, ORDERS };

struct top {
	const struct ctl_options *options;
	enum order order;
	struct overview overview;
	struct top_row row[ROWS_MAX];
	unsigned rows;
	bool shown;	    /* as a whole interval */
	struct instant due; /* the interval's end */
	uint64_t others;    /* without a row */
	struct {
		uint32_t tid;
		char name[17];
	} task[TASKS]; /* by tid modulo */
};

/* The row of that name, or key; NULL: it is new and has no room. */
static struct top_row *
row_of(struct top *t, const char *name, uint64_t key)
{
	struct top_row *r = t->row;

	for (; r < t->row + t->rows; r++)
		if (r->key == key &&
		    (*name == '\0' || strcmp(r->name, name) == 0))
			return r;
	if (t->rows == ROWS_MAX) {
		t->others++;
		return NULL;
	}
	t->rows++;
	*r = (struct top_row){.key = key};
	snprintf(r->name, ROW_NAME, "%s", name);
	return r;
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

	if (field_text(one, "missing") != NULL)
		return; /* no timeline: its cause is not known */
	if (t->options->by == TOP_CAUSE) {
		add_cost(row_of(t, cause != NULL ? cause : "-", 0),
		    field_number(one, "share_ns", 0));
		return;
	}
	snprintf(path, sizeof(path), "%.*s",
	    target != NULL ? (int)strcspn(target, "?") : 1,
	    target != NULL ? target : "-");
	add_cost(row_of(t, path, 0), field_number(one, "total_ns", 0));
}

static void
add_latency(struct top *t, const cJSON *one)
{
	int64_t edge_ns = field_number(one, "to_ns", -1);
	struct top_row *r;

	r = row_of(t,
	    edge_ns < 0 ? "longer"
			: plain_format("<%s", plain_duration(edge_ns)),
	    t->rows);
	if (r == NULL)
		return;
	r->count = (uint64_t)field_number(one, "requests", 0);
	r->cost_ns = edge_ns;
	if (r->count == 0 && t->rows == 1)
		t->rows = 0; /* shorter than all */
}

static int
gather(struct top *t)
{
	bool latency = t->options->by == TOP_LATENCY;
	char target[64] = "/slow?n=1000";
	const cJSON *one;
	cJSON *tree;

	if (t->options->since_ns > 0)
		snprintf(target, sizeof(target), "/slow?n=1000&since=%lld",
		    (long long)(t->options->since_ns / NS_PER_S));
	t->rows = 0;
	tree = admin_json(t->options, latency ? "/live.json" : target);
	if (tree == NULL)
		return -1;
	cJSON_ArrayForEach(one, field_list(tree, latency ? "latency" : "slow"))(
	    latency ? add_latency : add_slow)(t, one);
	cJSON_Delete(tree);
	while (latency && t->rows > 0 && t->row[t->rows - 1].count == 0)
		t->rows--;
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
	snprintf(t->task[tid % TASKS].name, sizeof(t->task[0].name), "%.16s",
	    plain_cell(raw, 16));
}

static void
take_cpu(struct top *t, const struct talechain_event *e)
{
	struct top_row *r;
	uint64_t wait_ns;

	if (e->cpu == UINT32_MAX ||
	    (e->type != TALECHAIN_SCHEDULE && e->type != TALECHAIN_SOFTIRQ))
		return;
	r = row_of(t, "", e->cpu);
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
	r = row_of(t, "", (uint64_t)e->tid << 8 | (e->arg[2] >> 32 & 0xff));
	if (r != NULL)
		r->count++;
}

static void
take_event(struct top *t, const struct talechain_event *e)
{
	if (e->type != TALECHAIN_THREAD && screen_paused())
		return;
	if (t->shown)
		t->rows = 0; /* the next interval starts from zero */
	t->shown = false;
	if (e->type == TALECHAIN_THREAD)
		take_name(t, e);
	else if (t->options->by == TOP_CPU)
		take_cpu(t, e);
	else
		take_waker(t, e);
}

/* Take events until the interval ends, a key is pressed (*key) or there are no
 * more: FOLLOW_END, FOLLOW_GONE. */
static enum follow_event
gather_events(struct top *t, struct follow *f, int *key)
{
	const struct ctl_options *o = t->options;
	enum follow_event what;
	struct timeline_slot slot;
	uint64_t lost;
	bool early;

	if (*key == 0)
		t->due = instant_plus(instant_now(), o->interval_ns);
	*key = 0;
	do {
		what = follow_next(f, &slot, &lost);
		if (what == FOLLOW_SLOT)
			take_event(t, &slot.event);
		if (what == FOLLOW_END || what == FOLLOW_GONE)
			break;
		early = o->dump || instant_before(instant_now(), t->due);
		if (what == FOLLOW_IDLE || !early)
			*key = screen_wait(0);
	} while (*key == 0 && (early || screen_paused()));
	return what;
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
    [TOP_LATENCY] = {"LATENCY", "", "", "REQUESTS", ""},
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
	bool times = heads[t->options->by].cost[0] != '\0';

	plain_print_cell(r->name, columns, TERMINAL_PLAIN);
	printf("%10s %9s %8llu", times ? plain_duration(r->cost_ns) : "",
	    times ? plain_duration(r->max_ns) : "",
	    (unsigned long long)r->count);
	if (t->options->by == TOP_CPU)
		printf(" %9s", plain_duration(r->extra_ns));
	putchar('\n');
}

/* A bucket of latencies, with a bar as long as its share of the fullest. */
static void
print_bar(const struct top *t, const struct top_row *r)
{
	static const char marks[BAR + 1] = "|||||||||||||||||||||||||||||||"
					   "|||||||||||||||||||||||||||||||";
	uint64_t most = 1;

	for (unsigned i = 0; i < t->rows; i++)
		most = t->row[i].count > most ? t->row[i].count : most;
	printf("%-8s%8llu %.*s\n", r->name, (unsigned long long)r->count,
	    (int)((r->count * BAR + most - 1) / most), marks);
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
	if (t->options->by != TOP_LATENCY)
		print_heads(t, top_columns());
	for (unsigned i = 0; i < n; i++)
		if (t->options->by == TOP_LATENCY)
			print_bar(t, &t->row[i]);
		else
			print_row(t, &t->row[i], top_columns());
	if (n == 0)
		printf("nothing%s\n",
		    t->options->by >= TOP_CPU
			? ": events of the kernel are missing (tailorctl "
			  "probe)"
			: "");
	screen_hint(t->options->by == TOP_LATENCY ? "" : next[t->order]);
}

static int
print_json(const struct top *t, unsigned n)
{
	static const char *const by[] = {
	    "cause", "path", "latency", "cpu", "waker"};
	struct json j;

	plain_json_begin(&j);
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
		if (t->options->by == TOP_LATENCY && r->cost_ns >= 0)
			json_key_int(&j, "under_ns", r->cost_ns);
		if (heads[t->options->by].cost[0] != '\0') {
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
	return plain_json_end(&j);
}

static int
print(struct top *t)
{
	bool latency = t->options->by == TOP_LATENCY;
	unsigned n = t->options->count > 0 ? (unsigned)t->options->count
		     : latency		   ? t->rows
					   : SHOWN;
	uint32_t rows = screen_rows();

	if (!latency)
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

/* Draw once in an interval, and after each key.  f: the stream, or NULL: the
 * running tailor is asked. */
static int
run(struct top *t, struct follow *f)
{
	const struct ctl_options *o = t->options;
	enum follow_event what = FOLLOW_IDLE;
	int key = 0;

	for (;;) {
		if (f != NULL)
			what = gather_events(t, f, &key);
		if (key == SCREEN_QUIT)
			return STATUS_OK;
		if (key == 's')
			t->order = (t->order + 1) % ORDERS;
		if (key == 0 && !screen_paused() &&
		    (read_overview(t) < 0 || (f == NULL && gather(t) < 0)))
			return STATUS_NO;
		if (f != NULL)
			name_rows(t);
		t->shown |= key == 0;
		if (print(t) != 0 || what == FOLLOW_GONE)
			return STATUS_NO;
		if (o->once || o->dump || what == FOLLOW_END)
			return STATUS_OK;
		if (f == NULL)
			key = screen_wait(o->interval_ns);
	}
}

int
command_top(const struct ctl_options *options)
{
	struct top *t = calloc(1, sizeof(*t));
	struct follow f;
	int status = STATUS_NO;

	if (t == NULL)
		return STATUS_NO;
	t->options = options;
	if (options->by < TOP_CPU) {
		screen_open(options);
		status = run(t, NULL);
	} else if (follow_open(&f, options) == 0) {
		screen_open(options);
		status = run(t, &f);
		follow_close(&f);
	}
	free(t);
	return status;
}
