/*
 * log.c: follow the timeline stream in shared memory.
 *
 * Reads beside the observer without asking it: a reader that is too slow is
 * overtaken, is told how many events that cost, and says so.  One event is
 * one line, wrapped at 80 columns:
 *
 *	08:15:03.412345678 0 jvm_gc_begin cause=allocation count=3
 *	time of day        |  event        its arguments; zero ones are left out
 *	                   server, "-" if none
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "tailorctl/ask.h"
#include "tailorctl/commands.h"
#include "tailorctl/field.h"
#include "tailorctl/plain.h"
#include "talechain/hazard.h"
#include "talechain/timeline.h"

#define IDLE_NS (10 * NS_PER_MS)
#define IDLE_CHECKS 100 /* idle turns between looks at the file */
#define ARGUMENTS 4
#define INDENT 19

struct follower {
	const struct options *options;
	const char *path;
	struct timeline_reader *reader; /* owned */
	int64_t wall_ns;		/* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t end;			/* --dump: stop here */
	uint64_t events, lost;
};

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

/* How far the wall clock is from the stream's. */
static int64_t
wall_offset_ns(void)
{
	struct instant now = instant_now();
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (int64_t)wall.tv_sec * NS_PER_S + wall.tv_nsec - (int64_t)now.ns;
}

/* The value of an argument, in the words of its name. */
static void
format_value(char *out, size_t size, const char *name, uint64_t value)
{
	if (strcmp(name, "request") == 0)
		snprintf(out, size, "%016llx", (unsigned long long)value);
	else if (strcmp(name, "cause") == 0)
		snprintf(out, size, "%s",
		    talechain_cause_name(
			value < UINT32_MAX ? (unsigned)value : UINT32_MAX));
	else
		snprintf(out, size, "%llu", (unsigned long long)value);
}

static void
print_event(const struct follower *f, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const char *type = talechain_type_name(e->type);
	uint64_t at_ns = e->ts + (uint64_t)f->wall_ns;
	time_t second = (time_t)(at_ns / (uint64_t)NS_PER_S);
	struct tm tm = {0};
	char word[128], value[64];
	int column;

	localtime_r(&second, &tm);
	printf("%02d:%02d:%02d.%09llu ", tm.tm_hour, tm.tm_min, tm.tm_sec,
	    (unsigned long long)(at_ns % (uint64_t)NS_PER_S));
	column = INDENT;
	if (slot->server >= 0 && slot->server <= 9)
		column += printf("%d ", slot->server);
	else
		column += printf("- ");
	if (type != NULL)
		column += printf("%s", type);
	else
		column += printf("type_%04x", e->type);
	for (unsigned i = 0; i < ARGUMENTS; i++) {
		const char *name = talechain_argument_name(e->type, i);

		if (name[0] == '\0' || e->arg[i] == 0)
			continue;
		format_value(value, sizeof(value), name, e->arg[i]);
		snprintf(word, sizeof(word), "%s=%s", name, value);
		if (column + 1 + (int)strlen(word) > PLAIN_COLUMNS)
			column = printf("\n%*s", INDENT + 2, "") - 1;
		column += printf(" %s", word);
	}
	putchar('\n');
}

static void
write_event(struct json *j, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const char *type = talechain_type_name(e->type);

	json_object_begin(j);
	json_key_uint(j, "ts", e->ts);
	json_key_uint(j, "read_ns", slot->read_ns);
	json_key_int(j, "server", slot->server);
	json_key_uint(j, "channel", slot->channel);
	json_key_uint(j, "seq", e->seq);
	json_key_uint(j, "pid", e->pid);
	json_key_uint(j, "tid", e->tid);
	json_key_uint(j, "type", e->type);
	if (type != NULL)
		json_key_string(j, "event", type);
	for (unsigned i = 0; i < ARGUMENTS; i++) {
		const char *name = talechain_argument_name(e->type, i);

		if (name[0] != '\0')
			json_key_uint(j, name, e->arg[i]);
	}
	json_object_end(j);
}

/* One JSON document per line; 0 or -ENOMEM. */
static int
print_json(struct json *j)
{
	char *text;
	size_t length;

	if (json_take(j, &text, &length) < 0)
		return -ENOMEM;
	printf("%s\n", text);
	free(text);
	return 0;
}

static int
show_event(struct follower *f, const struct timeline_slot *slot)
{
	struct json j;

	f->events++;
	if (!f->options->json) {
		print_event(f, slot);
		return 0;
	}
	json_init(&j, false);
	write_event(&j, slot);
	return print_json(&j);
}

static int
show_lost(struct follower *f, uint64_t lost)
{
	struct json j;

	f->lost += lost;
	if (!f->options->json) {
		printf("-- overtaken: %llu events were overwritten unread\n",
		    (unsigned long long)lost);
		return 0;
	}
	json_init(&j, false);
	json_object_begin(&j);
	json_key_uint(&j, "overtaken", lost);
	json_object_end(&j);
	return print_json(&j);
}

/* Nothing new: wait a little.  False if the stream is gone for good. */
static bool
idle(const struct follower *f, unsigned *turns)
{
	struct timespec pause = {0, IDLE_NS};
	struct stat st;

	if (fflush(stdout) != 0)
		return false;
	if (++*turns % IDLE_CHECKS == 0 && stat(f->path, &st) < 0 &&
	    errno == ENOENT) {
		fprintf(stderr, "tailorctl: the stream is gone; "
				"the tailor has stopped\n");
		return false;
	}
	nanosleep(&pause, NULL);
	return true;
}

/* Print until there is a reason to stop; the exit status. */
static int
follow(struct follower *f)
{
	const struct options *o = f->options;
	unsigned turns = 0;

	while (!interrupted && (o->count == 0 || f->events < o->count) &&
	       (!o->dump || timeline_reader_position(f->reader) < f->end)) {
		struct timeline_slot slot;
		uint64_t lost = 0;
		int err = 0;

		switch (timeline_read(f->reader, &slot, &lost)) {
		case TIMELINE_READ_OK:
			turns = 0;
			err = show_event(f, &slot);
			break;
		case TIMELINE_READ_LOST:
			err = show_lost(f, lost);
			break;
		case TIMELINE_READ_NONE:
			if (!idle(f, &turns))
				return STATUS_NO;
			break;
		}
		if (err < 0 || ferror(stdout))
			return STATUS_NO;
	}
	return STATUS_OK;
}

/* The path of the stream's file, owned by the caller; NULL after a message. */
static char *
find_stream(const struct options *o)
{
	struct answer a;
	const char *path;
	char *copy;
	cJSON *tree;

	if (o->stream != NULL)
		return strdup(o->stream);
	if (ask_ok(o, "GET", "/stream", &a) < 0)
		return NULL;
	tree = cJSON_ParseWithLength(a.reply.body, a.reply.length);
	path = field_text(tree, "path");
	copy = path != NULL && path[0] == '/' ? strdup(path) : NULL;
	if (copy == NULL)
		fprintf(stderr, "tailorctl: this tailor's stream is private; "
				"give it a file (profiler.stream)\n");
	cJSON_Delete(tree);
	answer_fini(&a);
	return copy;
}

int
command_log(const struct options *options)
{
	struct follower f = {.options = options, .wall_ns = wall_offset_ns()};
	char *path = find_stream(options);
	int status = STATUS_NO, err;

	if (path == NULL)
		return STATUS_NO;
	f.path = path;
	err = timeline_reader_open(&f.reader, path);
	if (err < 0) {
		fprintf(stderr, "tailorctl: %s: %s\n", path,
		    err == -EPROTO ? "not a stream of this version"
				   : strerror(-err));
		goto free_path;
	}
	f.end = timeline_reader_head(f.reader);
	if (!options->dump)
		timeline_seek(f.reader, f.end);
	catch_signals();
	status = follow(&f);
	if (fflush(stdout) != 0)
		status = STATUS_NO;
	fprintf(stderr, "%llu events, %llu overtaken\n",
	    (unsigned long long)f.events, (unsigned long long)f.lost);
	timeline_reader_close(&f.reader);

free_path:
	free(path);
	return status;
}
