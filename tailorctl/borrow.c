/* borrow.c: what `tailor borrow` runs on this machine, and what that costs the
 * requests of the running tailor.
 *
 * The kernel's groups are the list of the jobs.  The cost is that of all work
 * of policy SCHED_IDLE, started by tailor borrow or not. */
#include "borrow/group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/terminal.h"
#include "profiler/processes/proc.h"
#include "talechain/events/cause.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/blame.h"

#define JOBS 256 /* that are listed */
#define RESAMPLES 200
#define BEFORE_NS (60 * NS_PER_S) /* the shortest time to compare with */
#define BLAMED 100		  /* slow requests that are counted */
#define EVERYTHING 1e-9		  /* a percentile below all requests */

struct job {
	pid_t pid; /* of its tailor borrow */
	struct idle_group group;
	int64_t lent_ns, age_ns; /* -1: not known */
	unsigned processes;
	bool held;
	char command[200];
};

static const char cause[] = "borrowed_lane";

/* Find the words of a job's command line after "borrow", its second. */
static void
command_find(struct job *j)
{
	static const char word[] = "borrow";
	char path[32], *text;
	size_t length, at;

	snprintf(j->command, sizeof(j->command), "(its tailor borrow is gone)");
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)j->pid);
	if (file_read(path, &text, &length) < 0)
		return;
	at = strlen(text) + 1;
	if (length > at + sizeof(word) && strcmp(text + at, word) == 0) {
		for (size_t i = at += sizeof(word); i + 1 < length; i++)
			if (text[i] == '\0')
				text[i] = ' ';
		snprintf(j->command, sizeof(j->command), "%s", text + at);
	}
	free(text);
}

/* False: there is no such job any more. */
static bool
job_find(struct job *j, const struct group_place *place, pid_t pid)
{
	j->pid = pid;
	if (!group_open(&j->group, place, pid))
		return false;
	j->lent_ns = group_cpu_ns(&j->group);
	j->age_ns = proc_age_ns(pid);
	j->processes = group_processes(&j->group);
	j->held = group_is_held(&j->group);
	command_find(j);
	return true;
}

void
borrow_print_jobs(const char *typed)
{
	struct group_place place;
	pid_t pid[JOBS];
	char word[16];
	unsigned n;

	group_find(&place, "");
	n = group_list(&place, pid, JOBS);
	for (unsigned i = 0; i < n; i++) {
		snprintf(word, sizeof(word), "%d", (int)pid[i]);
		if (strncmp(word, typed, strlen(typed)) == 0)
			puts(word);
	}
}

static void
job_print(const struct job *j)
{
	bool timed = j->lent_ns >= 0 && j->age_ns > 0;

	printf("%-8d %-6s %5s %8s %9u  %s\n", (int)j->pid,
	    j->held ? "held" : "runs",
	    timed ? plain_format("%.2f", (double)j->lent_ns / (double)j->age_ns)
		  : "-",
	    plain_duration(j->lent_ns), j->processes,
	    plain_cell(j->command, 36 + plain_spare()));
}

static void
job_write(const struct job *j, struct json *out)
{
	json_object_begin(out);
	json_key_int(out, "job", j->pid);
	json_key_string(out, "command", j->command);
	json_key_string(out, "group", j->group.path);
	json_key_bool(out, "held", j->held);
	json_key_uint(out, "processes", j->processes);
	json_key_int(out, "lent_ns", j->lent_ns);
	json_key_int(out, "age_ns", j->age_ns);
	json_object_end(out);
}

/* Print the jobs.  Returns the age of the oldest, ns; 0: there is none. */
static int64_t
jobs_show(struct json *out)
{
	struct group_place place;
	static struct job job;
	pid_t pid[JOBS];
	int64_t oldest_ns = 0;
	unsigned n, shown = 0;

	group_find(&place, "");
	n = group_list(&place, pid, JOBS);
	for (unsigned i = 0; i < n; i++) {
		if (!job_find(&job, &place, pid[i]))
			continue;
		if (job.age_ns > oldest_ns)
			oldest_ns = job.age_ns;
		if (out != NULL) {
			job_write(&job, out);
			continue;
		}
		if (shown++ == 0)
			plain_head("JOB      STATE   CPUS     LENT PROCESSES  "
				   "COMMAND");
		job_print(&job);
	}
	if (n == 0 && out == NULL)
		printf("Nothing is borrowed.\n");
	return oldest_ns;
}

/* --- the cost ------------------------------------------------------------- */

/* Latencies of a route's requests in one of the times. */
struct taken {
	int64_t q_ns; /* 0: too few requests to say */
	struct blame_interval q;
	int64_t waited_ns; /* for lent CPUs, mean; -1: not observed */
};

struct cost {
	const struct ctl_options *options;
	struct blame_view of; /* then: the time before */
	struct blame_report *report;
	struct json *out;
};

static int
taken_find(const struct cost *c, const struct blame_rows *rows,
    const struct blame_route *route, struct taken *t)
{
	struct blame_options o = blame_view_options(&c->of);
	int64_t mean_ns[BLAME_CAUSES];
	char few[BLAME_FEW];
	int err;

	*t = (struct taken){.waited_ns = -1};
	if (route == NULL)
		return 0;
	err = blame_analyze(route->set, &o, c->report);
	if (err != 0)
		return err == -ENODATA ? 0 : err;
	if (!blame_view_few(&c->of, route, c->report, few)) {
		t->q_ns = c->report->q_ns;
		t->q = c->report->q;
	}
	blame_beyond(route->set, EVERYTHING, mean_ns);
	for (unsigned i = 0; i < rows->causes; i++)
		if (strcmp(rows->cause[i].code, cause) == 0 &&
		    c->report->seen[i] > 0)
			t->waited_ns = mean_ns[i];
	return 0;
}

static const char *
taken_text(const struct cost *c, const struct taken *t)
{
	if (t->q_ns == 0)
		return plain_format("too few requests for %s", c->of.name);
	return plain_format("%s %s (%s to %s)", c->of.name,
	    plain_duration(t->q_ns), plain_duration(t->q.low_ns),
	    plain_duration(t->q.high_ns));
}

static void
taken_write(const char *key, const struct taken *t, struct json *out)
{
	json_key_object(out, key);
	if (t->q_ns != 0) {
		json_key_int(out, "ns", t->q_ns);
		json_key_int(out, "low_ns", t->q.low_ns);
		json_key_int(out, "high_ns", t->q.high_ns);
	}
	if (t->waited_ns >= 0)
		json_key_int(out, "waited_ns", t->waited_ns);
	json_object_end(out);
}

static void
route_show(const struct cost *c, const struct blame_route *route,
    const struct taken *before, const struct taken *now)
{
	if (c->out != NULL) {
		json_object_begin(c->out);
		json_key_string(c->out, "route", route->name);
		taken_write("before", before, c->out);
		taken_write("lending", now, c->out);
		json_object_end(c->out);
		return;
	}
	plain_print(0, "%s: %s before, %s while lending; %s",
	    plain_cell(route->name, BLAME_ROUTE - 1), taken_text(c, before),
	    taken_text(c, now),
	    now->waited_ns < 0
		? "no kernel events show what waited for lent CPUs"
		: plain_format("a request waited %s for lent CPUs, on average",
		      plain_duration(now->waited_ns)));
}

/* Show which slow requests have waiting for lent CPUs as their cause. */
static int
blamed_show(const struct cost *c, int64_t since_ns)
{
	int64_t longest_ns = 0, share_ns;
	const char *id = NULL;
	const cJSON *one;
	unsigned n = 0;
	char target[80];
	cJSON *tree;

	snprintf(target, sizeof(target), "/slow?n=%d&since=%lld&cause=%s",
	    BLAMED, (long long)(since_ns / NS_PER_S), cause);
	tree = admin_json(c->options, target);
	if (tree == NULL)
		return STATUS_NO;
	cJSON_ArrayForEach(one, field_list(tree, "slow"))
	{
		n++;
		share_ns = field_number(one, "share_ns", 0);
		if (id != NULL && share_ns <= longest_ns)
			continue;
		longest_ns = share_ns;
		id = field_text(one, "id");
	}
	if (c->out != NULL) {
		json_key_uint(c->out, "blamed", n);
		json_key_int(c->out, "longest_ns", longest_ns);
		json_key_string(c->out, "longest", id != NULL ? id : "");
	} else if (id == NULL) {
		printf("No slow request has that as its cause.\n");
	} else {
		printf("%s%u slow requests have that as their cause, the worst "
		       "for %s:\n    tailorctl why %s\n",
		    n == BLAMED ? "At least " : "", n,
		    plain_duration(longest_ns), plain_cell(id, 60));
	}
	cJSON_Delete(tree);
	return STATUS_OK;
}

static int
routes_show(const struct cost *c)
{
	const struct blame_route *route;
	struct taken before, now;
	unsigned at = 0;
	int err = 0;

	while (err == 0 && (route = blame_view_route(&c->of, &at)) != NULL) {
		err = taken_find(
		    c, &c->of.then, blame_view_then(&c->of, route), &before);
		if (err == 0)
			err = taken_find(c, &c->of.rows, route, &now);
		if (err == 0)
			route_show(c, route, &before, &now);
	}
	if (err != 0)
		fprintf(stderr, "tailorctl: %s\n", strerror(-err));
	else if (at == 0 && c->out == NULL)
		printf("No request has an account of that time.\n");
	return err == 0 ? STATUS_OK : STATUS_NO;
}

/* Show what the requests of the last since_ns took, beside those before. */
static int
cost_show(const struct ctl_options *o, int64_t since_ns, struct json *out)
{
	struct cost c = {
	    .options = o, .of = {.resamples = RESAMPLES}, .out = out};
	int64_t before_ns;
	int status = STATUS_NO;

	/* Whole seconds are asked for. */
	since_ns = (since_ns + NS_PER_S - 1) / NS_PER_S * NS_PER_S;
	before_ns = since_ns < BEFORE_NS ? BEFORE_NS : since_ns;
	blame_view_percentile(&c.of, NULL);
	c.report = malloc(sizeof(*c.report));
	if (c.report != NULL &&
	    blame_period_read(o, &c.of.then, before_ns, since_ns) == 0 &&
	    blame_period_read(o, &c.of.rows, since_ns, 0) == 0) {
		if (out != NULL)
			json_key_array(out, "routes");
		status = routes_show(&c);
		if (out != NULL)
			json_array_end(out);
	}
	if (status == STATUS_OK)
		status = blamed_show(&c, since_ns);
	blame_rows_fini(&c.of.rows);
	blame_rows_fini(&c.of.then);
	free(c.report);
	return status;
}

int
command_borrow(const struct ctl_options *options)
{
	bool all = options->since_ns == 0;
	int64_t since_ns = options->since_ns;
	int status = STATUS_OK;
	struct json j;
	struct json *out = NULL;

	plain_json_begin(&j);
	if (options->json)
		out = &j;
	json_key_string(&j, "schema", "tailor.borrow/1");
	json_key_array(&j, "jobs");
	if (all)
		since_ns = jobs_show(out);
	json_array_end(&j);
	if (all && since_ns > 0 && !find_any(options) && out == NULL)
		printf("No tailor runs that could say what it costs.\n");
	else if (since_ns > 0 && (!all || find_any(options)))
		status = cost_show(options, since_ns, out);
	if (out != NULL && plain_json_end(&j) != STATUS_OK)
		status = STATUS_NO;
	json_fini(&j);
	return status;
}

int
command_hold(const struct ctl_options *options)
{
	static struct idle_group g;
	struct group_place place;
	char *end;
	long pid = strtol(options->argument, &end, 10);
	int err;

	group_find(&place, "");
	if (*end != '\0' || pid <= 0 || pid > INT32_MAX ||
	    !group_open(&g, &place, (pid_t)pid)) {
		fprintf(stderr,
		    "tailorctl: there is no job %s; \"tailorctl borrow\" lists "
		    "them\n",
		    plain_cell(options->argument, 20));
		return STATUS_NO;
	}
	err = group_hold(&g, !options->resume);
	if (err < 0)
		fprintf(stderr, "tailorctl: %s: %s%s\n", g.path, strerror(-err),
		    err == -EACCES || err == -EPERM
			? "; run this as the user who made it, or as root"
			: "");
	return err < 0 ? STATUS_NO : STATUS_OK;
}
