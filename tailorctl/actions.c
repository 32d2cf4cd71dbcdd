/* actions.c: commands that change something and wait for the result.
 *
 * Draining waits for requests in flight, restarting also for the server's
 * start.  Tailor does the work; the command only prints the state, and may be
 * interrupted. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/instant.h"
#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "base/terminal.h"

#define CHECK_PERIOD_NS (100 * NS_PER_MS)
#define REMIND_NS (5 * NS_PER_S)
#define PATIENCE_NS (600 * NS_PER_S)
#define STARTS 3 /* failed starts after which the command gives up */

/* Send a POST for the server.  0, or -1 after a message. */
static int
post(const struct ctl_options *o, const char *path)
{
	char name[300], target[400];
	struct http_response a;

	admin_escape(o->argument, name, sizeof(name));
	snprintf(target, sizeof(target), "%s?server=%s%s", path, name,
	    o->force ? "&force=1" : "");
	if (admin_request_ok(o, "POST", target, &a) < 0)
		return -1;
	http_response_fini(&a);
	return 0;
}

struct server_progress {
	char state[32], last_end[32];
	bool restarting;
	int64_t quick_ends;
	char waits[WAITS_BYTES]; /* see waits_text(); "": none */
};

/* Read the server's part of /servers.  0, or -1 after a message. */
static int
read_progress(const struct ctl_options *o, struct server_progress *out)
{
	cJSON *tree = admin_json(o, "/servers");
	const cJSON *server;
	int err = -1;

	if (tree == NULL)
		return -1;
	server = field_server(tree, o->argument);
	if (server != NULL) {
		snprintf(out->state, sizeof(out->state), "%.31s",
		    plain_cell(field_text(server, "state"), 20));
		snprintf(out->last_end, sizeof(out->last_end), "%.31s",
		    plain_cell(field_text(server, "last_end"), 20));
		out->restarting = field_true(server, "restarting");
		out->quick_ends = field_number(server, "quick_ends", 0);
		snprintf(out->waits, sizeof(out->waits), "%s",
		    waits_text(field_list(server, "waits")));
		err = 0;
	}
	cJSON_Delete(tree);
	if (err < 0)
		fprintf(stderr, "tailorctl: the server no longer "
				"exists\n");
	return err;
}

/* Print a new state: a word, or a JSON object. */
static void
show_state(const struct ctl_options *o, const char *state)
{
	struct json j;

	if (!o->json) {
		printf("%s\n", state);
		return;
	}
	plain_json_begin(&j);
	json_key_string(&j, "server", o->argument);
	json_key_string(&j, "state", state);
	plain_json_end(&j);
}

static int
does_not_start(const struct ctl_options *o, const struct server_progress *now)
{
	fprintf(stderr,
	    "tailorctl: %s does not start: it ended %lld times (%s);\n"
	    "tailorctl: tailor keeps trying; its log has more\n",
	    o->argument, (long long)now->quick_ends, now->last_end);
	return STATUS_NO;
}

/* Print each new state until the server has the wanted one, and now and then
 * what delays it. */
static int
wait_for(const struct ctl_options *o, const char *wanted)
{
	struct timespec pause = {0, CHECK_PERIOD_NS};
	struct server_progress now, before = {.state = ""};
	int64_t said = -REMIND_NS, least = INT64_MAX;

	for (int64_t waited = 0; waited < PATIENCE_NS;
	     waited += CHECK_PERIOD_NS) {
		if (read_progress(o, &now) < 0)
			return STATUS_NO;
		if (strcmp(now.state, before.state) != 0) {
			show_state(o, now.state);
			fflush(stdout);
		}
		if (!o->json && *now.waits != '\0' &&
		    waited - said >= REMIND_NS) {
			printf("  waits for %s\n", now.waits);
			fflush(stdout);
			said = waited;
		}
		if (strcmp(now.state, wanted) == 0 && !now.restarting)
			return STATUS_OK;
		/* Old ends count until the daemon begins the new start. */
		if (now.quick_ends < least)
			least = now.quick_ends;
		if (strcmp(wanted, "ready") == 0 &&
		    now.quick_ends - least >= STARTS)
			return does_not_start(o, &now);
		before = now;
		nanosleep(&pause, NULL);
	}
	fprintf(stderr,
	    "tailorctl: not %s yet, still in progress (see tailorctl "
	    "servers)\n",
	    wanted);
	return STATUS_NO;
}

int
command_drain(const struct ctl_options *options)
{
	if (post(options, "/drain") < 0)
		return STATUS_NO;
	return wait_for(options, "drained");
}

int
command_restart(const struct ctl_options *options)
{
	if (post(options, "/restart") < 0)
		return STATUS_NO;
	return wait_for(options, "ready");
}

int
command_undrain(const struct ctl_options *options)
{
	if (post(options, "/undrain") < 0)
		return STATUS_NO;
	return wait_for(options, "ready");
}

/* Print the strings of a list, one per line; returns how many. */
static unsigned
show_lines(FILE *out, const cJSON *list, const char *before)
{
	const cJSON *one;
	unsigned n = 0;

	cJSON_ArrayForEach(one, list)
	{
		const char *text = cJSON_GetStringValue(one);

		if (text == NULL)
			continue;
		fputs(before, out);
		plain_wrap(out, text, (unsigned)strlen(before));
		n++;
	}
	return n;
}

int
command_reload(const struct ctl_options *options)
{
	struct http_response a;
	cJSON *tree;
	bool done;

	if (admin_request(options, "POST", "/reload", &a) < 0)
		return STATUS_NO;
	tree = cJSON_ParseWithLength(a.body, a.length);
	done = a.status == 200 && field_true(tree, "reloaded");
	if (options->json && tree != NULL) {
		admin_response_print(&a);
	} else if (done) {
		if (show_lines(stdout, field_list(tree, "changed"), "") == 0)
			printf("nothing has changed\n");
	} else if (show_lines(stderr, field_list(tree, "errors"),
		       "tailorctl: ") == 0) {
		admin_response_complain(&a);
	}
	cJSON_Delete(tree);
	http_response_fini(&a);
	return done ? STATUS_OK : STATUS_NO;
}
