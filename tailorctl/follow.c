#include "tailorctl/follow.h"

#include <signal.h>

#include "tailorctl/admin_request.h"
#include "tailorctl/field.h"
#include "base/terminal.h"

#define IDLE_NS (10 * NS_PER_MS)
#define IDLE_CHECKS 100 /* idle turns between checks of the file */

static volatile sig_atomic_t interrupted;

static void
on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static void
catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* The path of the stream's file, owned by the caller; NULL after a message. */
static char *
find_stream(const struct ctl_options *o)
{
	const char *path;
	char *copy;
	cJSON *tree;

	if (o->stream != NULL)
		return strdup(o->stream);
	tree = admin_json(o, "/stream");
	if (tree == NULL)
		return NULL;
	path = field_text(tree, "path");
	copy = path != NULL && path[0] == '/' ? strdup(path) : NULL;
	if (copy == NULL)
		fprintf(stderr, "tailorctl: this tailor's stream is private; "
				"give it a file (profiler.stream)\n");
	cJSON_Delete(tree);
	return copy;
}

int
follow_open(struct follow *f, const struct ctl_options *options)
{
	int err;

	*f = (struct follow){
	    .options = options, .wall_ns = instant_wall_ns(INSTANT_NONE)};
	f->path = find_stream(options);
	if (f->path == NULL)
		return -1;
	err = timeline_reader_open(&f->reader, f->path);
	if (err < 0) {
		fprintf(stderr, "tailorctl: %s: %s\n", f->path,
		    err == -EPROTO    ? "not a stream of this version"
		    : err == -EBADMSG ? "damaged: its newest event is missing"
				      : strerror(-err));
		free(f->path);
		return -1;
	}
	f->end = timeline_reader_head(f->reader);
	if (!options->dump)
		timeline_seek(f->reader, f->end);
	catch_signals();
	return 0;
}

void
follow_close(struct follow *f)
{
	timeline_reader_close(&f->reader);
	free(f->path);
}

enum follow_event
follow_next(struct follow *f, struct timeline_slot *out, uint64_t *lost)
{
	struct timespec pause = {0, IDLE_NS};
	struct stat st;

	if (interrupted ||
	    (f->options->dump && timeline_reader_position(f->reader) >= f->end))
		return FOLLOW_END;
	switch (timeline_read(f->reader, out, lost)) {
	case TIMELINE_READ_OK:
		f->idle = 0;
		return FOLLOW_SLOT;
	case TIMELINE_READ_LOST:
		f->lost += *lost;
		return FOLLOW_LOST;
	case TIMELINE_READ_NONE:
		break;
	}
	if (timeline_reader_is_cut(f->reader)) {
		fprintf(stderr, "tailorctl: %s: the stream was cut\n", f->path);
		return FOLLOW_GONE;
	}
	/* What was there at the start is whole, or overtaken. */
	if (f->options->dump && f->idle >= IDLE_CHECKS) {
		fprintf(stderr,
		    "tailorctl: %s: damaged: event %llu of %llu is missing\n",
		    f->path,
		    (unsigned long long)timeline_reader_position(f->reader),
		    (unsigned long long)f->end);
		return FOLLOW_GONE;
	}
	if (++f->idle % IDLE_CHECKS == 0 && stat(f->path, &st) < 0 &&
	    errno == ENOENT) {
		fprintf(stderr, "tailorctl: the stream has ended; "
				"the tailor has stopped\n");
		return FOLLOW_GONE;
	}
	nanosleep(&pause, NULL);
	return FOLLOW_IDLE;
}

void
follow_names(const struct ctl_options *options, struct stream_requests *s)
{
	const cJSON *one;
	cJSON *tree;

	if (options->stream != NULL)
		return;
	tree = admin_json(options, "/servers");
	cJSON_ArrayForEach(one, field_list(tree, "servers"))
	{
		if (s->servers == SEEN_SERVERS)
			break;
		snprintf(s->name[s->servers++], STREAM_NAME, "%.39s",
		    plain_cell(field_text(one, "name"), 32));
	}
	cJSON_Delete(tree);
}

char *
follow_clock(const struct follow *f, uint64_t ns, char out[FOLLOW_CLOCK])
{
	uint64_t at_ns = ns + (uint64_t)f->wall_ns;
	time_t second = (time_t)(at_ns / (uint64_t)NS_PER_S);
	struct tm tm = {0};

	localtime_r(&second, &tm);
	snprintf(out, FOLLOW_CLOCK, "%02d:%02d:%02d.%09llu", tm.tm_hour % 100,
	    tm.tm_min % 100, tm.tm_sec % 100,
	    (unsigned long long)(at_ns % (uint64_t)NS_PER_S));
	return out;
}
