/* deploy.c: "tailorctl deploy": give both servers the new version, one after
 * the other.
 *
 * The backup restarts first, while the active server serves; Tailor warms it up
 * before it may serve.  It then becomes active and is compared for a while with
 * how the old version did meanwhile.  If it is not worse, the other server
 * follows; else that one, still the old version, becomes active again. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/json.h"
#include "base/terminal.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "tailorctl/samples.h"

#define NAME_MAX_BYTES 64
#define LOOK_NS (200 * NS_PER_MS)
#define FEW 20	     /* requests; below, no comparison */
#define BAD_MORE 3   /* failures more than twice as many as before: worse */
#define SLOW_TIMES 2 /* median so many times the other's: slower */
#define SLOW_MORE_NS (2 * NS_PER_MS)
#define EDGES_MAX 32 /* of the histogram of durations, 20 today */

/* Requests that finished; how many of them failed: 5xx or cut; and how many
 * took at most each edge of the histogram. */
struct served {
	int64_t all, failed;
	unsigned edges;
	int64_t edge_ns[EDGES_MAX], within[EDGES_MAX];
};

struct deployment {
	const struct ctl_options *options;
	char name[2][NAME_MAX_BYTES]; /* the backup at first, the active one */
	struct instant began;
	struct served first; /* before anything changed */
};

static void
say(const struct deployment *d, const char *text)
{
	if (d->options->json)
		return;
	printf("%s\n", text);
	fflush(stdout);
}

/* True if the sample is of that family, a name with "{". */
static bool
is_of(const struct metric_sample *s, const char *family)
{
	size_t n = strlen(family);

	return s->length > n && memcmp(s->name, family, n) == 0;
}

/* Add a counter of GET /metrics: responses with 5xx, those that were cut, but
 * not by the client, and how long all took. */
static void
served_add(struct served *out, const struct metric_sample *s)
{
	static const char failed[] = "{code_class=\"5xx\"}";
	static const char cut[] = "tailor_terminations_total{code=\"";
	static const char bucket[] =
	    "tailor_request_duration_seconds_bucket{le=\"";
	const char *code = s->name + sizeof(cut) - 1;
	double edge_s;

	if (is_of(s, "tailor_requests_total{")) {
		out->all += (int64_t)s->value;
		if (memmem(s->name, s->length, failed, strlen(failed)) != NULL)
			out->failed += (int64_t)s->value;
	} else if (is_of(s, cut) && s->length > sizeof(cut) + 1 &&
		   code[1] == 'D' && strchr("Cc", code[0]) == NULL) {
		out->failed += (int64_t)s->value;
	} else if (is_of(s, bucket) && out->edges < EDGES_MAX) {
		/* 0 for the last one, +Inf. */
		edge_s = strtod(s->name + sizeof(bucket) - 1, NULL);
		out->edge_ns[out->edges] =
		    isfinite(edge_s) ? (int64_t)(edge_s * 1e9) : 0;
		out->within[out->edges++] = (int64_t)s->value;
	}
}

/* 0, or -1 after a message. */
static int
served_read(const struct ctl_options *o, struct served *out)
{
	struct metric_sample sample;
	struct http_response a;
	const char *at;

	*out = (struct served){.all = 0};
	if (admin_request_ok(o, "GET", "/metrics", &a) < 0)
		return -1;
	at = a.body;
	while (samples_next(&at, a.body + a.length, &sample))
		served_add(out, &sample);
	http_response_fini(&a);
	return 0;
}

static struct served
served_since(struct served now, struct served then)
{
	now.all -= then.all;
	now.failed -= then.failed;
	for (unsigned i = 0; i < now.edges && i < then.edges; i++)
		now.within[i] -= then.within[i];
	return now;
}

/* The least edge that no request exceeded, ns, and in *above_ns one that the
 * slowest did exceed; 0: none. */
static int64_t
slowest_within(const struct served *s, int64_t *above_ns)
{
	*above_ns = 0;
	for (unsigned i = 0; i < s->edges && s->all > 0; i++) {
		if (s->within[i] == s->within[s->edges - 1])
			return s->edge_ns[i];
		*above_ns = s->edge_ns[i];
	}
	return 0;
}

/* Find the names of both servers, which must be ready.  0, or -1 after a
 * message. */
static int
find_servers(struct deployment *d)
{
	cJSON *tree = admin_json(d->options, "/servers");
	const cJSON *s;
	unsigned ready = 0;

	if (tree == NULL)
		return -1;
	cJSON_ArrayForEach(s, field_list(tree, "servers"))
	{
		const char *name = field_text(s, "name");
		const char *state = field_text(s, "state");

		if (name == NULL || state == NULL ||
		    strcmp(state, "ready") != 0)
			continue;
		ready++;
		snprintf(d->name[field_true(s, "active")], NAME_MAX_BYTES, "%s",
		    name);
	}
	cJSON_Delete(tree);
	if (ready == 2 && *d->name[0] != '\0' && *d->name[1] != '\0')
		return 0;
	fprintf(stderr, "tailorctl: a deployment needs two servers that are "
			"ready; see tailorctl servers\n");
	return -1;
}

/* Run --with for a server, whose name is $SERVER.  0, or -1 after a message. */
static int
run_command(const struct deployment *d, const char *name)
{
	const char *command = d->options->with;
	int status;

	if (setenv("SERVER", name, 1) < 0) {
		perror("tailorctl");
		return -1;
	}
	status = system(command);
	if (status == 0)
		return 0;
	if (status > 0 && WIFEXITED(status))
		fprintf(stderr, "tailorctl: --with ended with status %d\n",
		    WEXITSTATUS(status));
	else
		fprintf(stderr, "tailorctl: --with failed\n");
	return -1;
}

/* Restart a server, and wait until it is warm.  The exit status. */
static int
renew(const struct deployment *d, const char *name)
{
	struct ctl_options one = *d->options;
	char text[NAME_MAX_BYTES + 20];

	one.argument = name;
	snprintf(text, sizeof(text), "server %s:", plain_cell(name, 40));
	say(d, text);
	if (one.with == NULL)
		return command_restart(&one);
	if (command_drain(&one) != STATUS_OK)
		return STATUS_NO;
	if (run_command(d, name) < 0) {
		fprintf(stderr,
		    "tailorctl: server %s is out of service; when it runs "
		    "again: tailorctl undrain %s\n",
		    plain_cell(name, 40), plain_cell(name, 40));
		return STATUS_NO;
	}
	return command_undrain(&one);
}

/* Make the server active that is not.  0, or -1 after a message. */
static int
swap(const struct deployment *d)
{
	struct http_response a;

	if (admin_request_ok(d->options, "POST", "/switch", &a) < 0)
		return -1;
	http_response_fini(&a);
	return 0;
}

struct server_seen {
	int64_t p50_ns; /* median response time; 0: not known */
	bool ready, active;
};

/* Look at a server.  0, or -1 after a message. */
static int
look(const struct deployment *d, const char *name, struct server_seen *out)
{
	cJSON *tree = admin_json(d->options, "/servers");
	const cJSON *s;
	const char *state;

	*out = (struct server_seen){0, false, false};
	if (tree == NULL)
		return -1;
	s = field_server(tree, name);
	state = field_text(s, "state");
	out->p50_ns = field_number(s, "p50_ns", 0);
	out->ready = state != NULL && strcmp(state, "ready") == 0;
	out->active = field_true(s, "active");
	cJSON_Delete(tree);
	return 0;
}

/* Compare the new version with the old one, and say how.  True: it is not
 * worse. */
static bool
compare(const struct deployment *d, struct served old, struct served new,
    int64_t old_p50_ns, const struct server_seen *seen)
{
	double before = old.all > 0 ? (double)old.failed / (double)old.all : 0;
	bool fails =
	    (double)new.failed > 2 * before *(double)new.all + BAD_MORE;
	bool slow = seen->p50_ns > 0 && old_p50_ns > 0 && new.all >= FEW &&
		    seen->p50_ns > SLOW_TIMES *old_p50_ns + SLOW_MORE_NS;
	char text[300], was[32];

	snprintf(was, sizeof(was), "%s", plain_duration(old_p50_ns));
	snprintf(text, sizeof(text),
	    "new version: %lld requests, %lld failed, median %s; old: %lld, "
	    "%lld, %s: %s",
	    (long long)new.all, (long long)new.failed,
	    plain_duration(seen->p50_ns), (long long)old.all,
	    (long long)old.failed, was,
	    fails			     ? "more requests fail"
	    : !seen->ready		     ? "it is not ready any more"
	    : slow			     ? "it is slower"
	    : new.all < FEW || old.all < FEW ? "too few to compare"
					     : "not worse");
	say(d, text);
	return seen->ready && !fails && !slow;
}

/* Let the new version serve for a while, or until it is not ready any more.
 * 0, or -1 after a message. */
static int
hold(const struct deployment *d, struct server_seen *seen)
{
	static const struct timespec pause = {0, LOOK_NS};
	struct instant end = instant_plus(instant_now(), d->options->hold_ns);

	do {
		nanosleep(&pause, NULL);
		if (look(d, d->name[0], seen) < 0)
			return -1;
	} while (seen->ready && instant_before(instant_now(), end));
	return 0;
}

/* Try the new version.  The exit status. */
static int
try_new(const struct deployment *d)
{
	struct served before, now;
	struct server_seen old, new;

	if (look(d, d->name[1], &old) < 0 ||
	    served_read(d->options, &before) < 0 || swap(d) < 0 ||
	    hold(d, &new) < 0 || served_read(d->options, &now) < 0)
		return STATUS_NO;
	if (compare(d, served_since(before, d->first),
		served_since(now, before), old.p50_ns, &new))
		return STATUS_OK;
	/* Tailor may have gone back by itself. */
	if (look(d, d->name[1], &old) == 0 && (old.active || swap(d) == 0))
		fprintf(stderr,
		    "tailorctl: stopped: server %s, with the old version, "
		    "serves again; server %s keeps the new one\n",
		    plain_cell(d->name[1], 40), plain_cell(d->name[0], 40));
	return STATUS_NO;
}

/* Get the slowest kept request of the deployment.  0: none is kept. */
static int64_t
slowest(const struct deployment *d, int64_t took_ns, char id[80])
{
	char target[80];
	long long seconds = took_ns / NS_PER_S + 1;
	const cJSON *one;
	int64_t total_ns;
	cJSON *tree;

	snprintf(
	    target, sizeof(target), "/slow?n=1&sort=total&since=%lld", seconds);
	tree = admin_json(d->options, target);
	one = cJSON_GetArrayItem(field_list(tree, "slow"), 0);
	total_ns = field_number(one, "total_ns", 0);
	snprintf(id, 80, "%s",
	    field_text(one, "id") != NULL ? field_text(one, "id") : "");
	cJSON_Delete(tree);
	return total_ns;
}

static int
summarize(const struct deployment *d)
{
	int64_t took_ns = instant_since(instant_now(), d->began), slow_ns;
	int64_t above_ns, within_ns;
	struct served now;
	char id[80], text[200];
	struct json j;

	if (served_read(d->options, &now) < 0)
		return STATUS_NO;
	now = served_since(now, d->first);
	slow_ns = slowest(d, took_ns, id);
	within_ns = slowest_within(&now, &above_ns);
	if (slow_ns <= above_ns) { /* the slowest is not kept */
		slow_ns = 0;
		id[0] = '\0';
	}
	if (d->options->json) {
		plain_json_begin(&j);
		json_key_int(&j, "took_ns", took_ns);
		json_key_int(&j, "requests", now.all);
		json_key_int(&j, "failed", now.failed);
		json_key_int(&j, "slowest_ns", slow_ns);
		json_key_int(&j, "slowest_within_ns", within_ns);
		json_key_string(&j, "slowest_id", id);
		return plain_json_end(&j) < 0 ? STATUS_NO : STATUS_OK;
	}
	snprintf(text, sizeof(text),
	    "deployed: %.0f s, %lld requests, %lld "
	    "failed",
	    (double)took_ns / 1e9, (long long)now.all, (long long)now.failed);
	if (slow_ns > 0)
		text_append(text, sizeof(text),
		    ", slowest %s (tailorctl why %s)", plain_duration(slow_ns),
		    plain_cell(id, 40));
	else if (within_ns > 0)
		text_append(text, sizeof(text), ", slowest at most %s",
		    plain_duration(within_ns));
	say(d, text);
	return STATUS_OK;
}

int
command_deploy(const struct ctl_options *options)
{
	struct deployment d = {.options = options, .began = instant_now()};

	if (find_servers(&d) < 0 || served_read(options, &d.first) < 0)
		return STATUS_NO;
	for (unsigned i = 0; i < 2; i++) {
		if (renew(&d, d.name[i]) != STATUS_OK ||
		    (i == 0 && try_new(&d) != STATUS_OK))
			return STATUS_NO;
	}
	return summarize(&d);
}
