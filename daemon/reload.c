/* reload.c: reads a new configuration, checks it and puts it in force.
 *
 * The steps that can fail come first: reading, checking, compiling rules, and
 * last binding new listeners.  The other steps cannot fail, and are done
 * together between two events of the loop. */
#include "daemon/daemon.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/inspect.h"
#include "daemon/notify.h"
#include "proxy/access_log/access_log.h"
#include "proxy/client/listeners.h"
#include "proxy/upstream/server.h"

/* --- judging -------------------------------------------------------------- */

static void
add_line(char *text, const char *line, const char *more)
{
	size_t n = strlen(text);

	snprintf(text + n, RELOAD_TEXT - n, "%s%s\n", line, more);
}

static void
complain(struct reload_result *out, const char *line, const char *more)
{
	out->errors++;
	if (!out->asked)
		log_event(LOG_LEVEL_ERROR, "reload_error", "why=\"%s%s\"", line,
		    more);
	add_line(out->complaints, line, more);
}

/* Add a complaint about an address or file that the system refuses. */
static void
unusable(struct reload_result *out, const char *key, const char *name, int err)
{
	char line[512];

	snprintf(line, sizeof(line), "%s: %s cannot be used: ", key, name);
	complain(out, line, strerror(-err));
}

static void
on_difference(void *user, const char *path, bool restart)
{
	struct reload_result *out = user;

	if (restart) {
		complain(out, path,
		    ": a reload cannot change it; restart tailor, or set it "
		    "back");
		return;
	}
	out->changed++;
	add_line(out->changes, path, "");
}

/* Read the new configuration; NULL if it is wrong, or cannot be put in force
 * without a restart. */
static struct config *
candidate_read(struct daemon *d, struct reload_result *out)
{
	struct config_errors errors = {0};
	struct config *next = NULL;
	int err = d->source.read(d->source.user, &next, &errors);

	if (err == 0)
		err = inspect_machine(next, &errors);
	for (unsigned i = 0; i < errors.count; i++)
		complain(out, errors.text[i], "");
	config_errors_fini(&errors);
	if (err < 0 && out->errors == 0)
		complain(out, strerror(-err), "");
	if (err == 0 &&
	    config_compare(d->proxy.config, next, on_difference, out) < 0)
		complain(out, strerror(ENOMEM), "");
	if (out->errors > 0)
		config_free(&next);
	return next;
}

/* --- changing ------------------------------------------------------------- */

/* Change the access log's file.  If the ring is full, the old file stays;
 * SIGUSR1 tries again. */
static void
access_log_move(struct proxy *p, int fd)
{
	int err = access_log_switch(p->access_log, fd);

	if (err < 0)
		log_event(LOG_LEVEL_ERROR, "access_log_not_moved",
		    "error=\"%s\" advice=\"send SIGUSR1 to try again\"",
		    strerror(-err));
}

/* Find the listener that next wants for metrics: the present one, a new one,
 * or none.  0 or -errno. */
static int
collectors_find(struct daemon *d, const struct config *next, struct admin **out)
{
	const struct config_address *now = &d->proxy.config->metrics.listen;
	const struct config_address *then = &next->metrics.listen;

	*out = d->collectors;
	if (config_address_equal(now, then) ||
	    (now->length == 0 && then->length == 0))
		return 0;
	return admin_new_metrics(out, &d->proxy, next);
}

static void
collectors_change(struct daemon *d, struct admin *to)
{
	if (to != d->collectors)
		admin_free(&d->collectors);
	d->collectors = to;
	if (to != NULL)
		admin_allow(to, d->proxy.config);
}

/* Change to next, and take ownership of it in any case. */
static int
change_to(struct daemon *d, struct config *next, struct reload_result *out)
{
	struct proxy *p = &d->proxy;
	struct generation *before = TAILQ_FIRST(&p->generations);
	bool same_log =
	    strcmp(p->config->access_log.path, next->access_log.path) == 0;
	struct token token;
	struct admin *collectors = d->collectors;
	char why[TOKEN_WHY];
	const char *failed;
	int log_fd = -1, err;

	if (token_read(next->talechain.token_file, &token, why) < 0) {
		complain(out, "talechain.token_file: ", why);
		goto fail;
	}
	if (!same_log &&
	    (err = access_log_prepare(&p->access_log, next, &log_fd)) < 0) {
		unusable(out, "access_log.path", next->access_log.path, err);
		goto fail;
	}
	err = collectors_find(d, next, &collectors);
	if (err < 0) {
		unusable(out, "metrics.listen", next->metrics.listen.text, err);
		goto fail_log;
	}
	err = listeners_change(&p->clients, next, &failed);
	if (err < 0) {
		unusable(out, "listen", failed, err);
		goto fail_metrics;
	}
	if (generation_add(&p->generations, next) < 0) {
		/* The new listeners stay, which is harmless; the next reload
		 * changes them again. */
		complain(out, strerror(ENOMEM), "");
		next = NULL;
		goto fail_metrics;
	}
	d->tales.token = token;
	p->config = p->clients.config = p->upstream.config = next;
	servers_change(p);
	collectors_change(d, collectors);
	replay_table_review(&p->upstream.replay, next);
	generation_drop(&p->generations, before);
	if (!same_log)
		access_log_move(p, log_fd);
	return 0;

fail_metrics:
	if (collectors != d->collectors)
		admin_free(&collectors);
fail_log:
	if (log_fd >= 0)
		close(log_fd);
fail:
	config_free(&next);
	return -EINVAL;
}

/* Log the changes in one line. */
static void
log_changes(const struct reload_result *out, const char *why)
{
	char text[512];

	snprintf(
	    text, sizeof(text), "%.*s", (int)sizeof(text) - 1, out->changes);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\n')
			*c = c[1] != '\0' ? ',' : '\0';
	log_event(LOG_LEVEL_NOTICE, "reloaded", "why=%s changed=%u keys=\"%s\"",
	    why, out->changed, text);
}

int
daemon_reload(struct daemon *d, const char *why, struct reload_result *out)
{
	struct proxy *p = &d->proxy;
	struct reload_result result = {
	    .asked = out != NULL && out->asked, .file = d->source.file};
	struct config *next;
	int err = -EINVAL;

	if (d->stage != DAEMON_RUNS || d->source.read == NULL) {
		complain(&result, "tailor is stopping", "");
		err = -EBUSY;
		goto done;
	}
	if (result.asked) {
		next = candidate_read(d, &result);
		err = next != NULL ? 0 : -EINVAL;
		config_free(&next);
		goto done;
	}
	notify_reloading();
	next = candidate_read(d, &result);
	if (next != NULL)
		err = change_to(d, next, &result);
	notify_keep(&p->clients);
	notify_ready(p);
	if (err == 0) {
		p->metrics.reloads_done++;
		log_changes(&result, why);
	} else {
		p->metrics.reloads_failed++;
		log_event(LOG_LEVEL_ERROR, "reload_failed",
		    "why=%s errors=%u advice=\"the configuration in force has "
		    "not changed; tailor -t checks a file\"",
		    why, result.errors);
	}
done:
	if (out != NULL)
		*out = result;
	return err;
}
