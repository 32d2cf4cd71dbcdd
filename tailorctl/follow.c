#include "tailorctl/follow.h"

#include <signal.h>

#include "base/array.h"
#include "base/terminal.h"
#include "tailorctl/admin_request.h"
#include "talechain/events/termination.h"

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

/* Return the path of the stream's file, owned by the caller; NULL after a
 * message. */
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
	/* Events before the end are complete or overwritten: one that stays
	 * missing means damage. */
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

/* --- requests ------------------------------------------------------------- */

static struct stream_request *
place(struct stream_requests *s, uint64_t id)
{
	uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);

	return &s->open[hash >> 52 & (STREAM_REQUESTS_OPEN - 1)];
}

/* Return the open request of an event; created if needed. */
static struct stream_request *
request_of(struct stream_requests *s, uint64_t id)
{
	struct stream_request *r = place(s, id);

	if (r->id == id)
		return r;
	*r = (struct stream_request){.id = id, .server = -1};
	return r;
}

static void
take_attempt(struct stream_request *r, const struct talechain_event *e)
{
	if (e->arg[2] < 2)
		r->attempt_ns[e->arg[2]] = e->ts;
	r->attempts++;
}

static void
take_commit(struct stream_request *r, const struct talechain_event *e)
{
	if (e->arg[2] < 2)
		r->written_ns = r->attempt_ns[e->arg[2]];
	r->answered_ns = e->ts;
	r->server = e->arg[1] < SEEN_SERVERS ? (int)e->arg[1] : -1;
}

bool
stream_requests_take(struct stream_requests *s,
    const struct timeline_slot *slot, struct stream_request *out)
{
	const struct talechain_event *e = &slot->event;
	struct stream_request *r;

	if (e->type >> 12 != 1 || e->type == TALECHAIN_PROXY_SWAP ||
	    e->arg[0] == 0)
		return false;
	/* Drained losers end after the request did. */
	if (e->type == TALECHAIN_PROXY_ATTEMPT_END)
		return false;
	r = request_of(s, e->arg[0]);
	switch (e->type) {
	case TALECHAIN_PROXY_RECEIVE:
		r->began = true;
		r->received_ns = e->ts;
		r->in_flight = e->arg[1];
		r->first_byte_ns = e->arg[3] != 0 ? e->arg[3] : e->ts;
		break;
	case TALECHAIN_PROXY_ATTEMPT:
		take_attempt(r, e);
		break;
	case TALECHAIN_PROXY_COMMIT:
		take_commit(r, e);
		break;
	case TALECHAIN_PROXY_FINISH:
		r->finished_ns = e->ts;
		r->status = e->arg[2] & UINT64_MAX >> 8;
		r->termination = (unsigned)(e->arg[2] >> 56);
		r->bytes = e->arg[3];
		*out = *r;
		r->id = 0;
		return true;
	}
	return false;
}

uint64_t
stream_request_total_ns(const struct stream_request *r)
{
	return r->began && r->finished_ns > r->first_byte_ns
		   ? r->finished_ns - r->first_byte_ns
		   : 0;
}

const char *
stream_server_name(
    const struct stream_requests *s, int server, char out[STREAM_NAME])
{
	if (server < 0)
		snprintf(out, STREAM_NAME, "-");
	else if ((unsigned)server < s->servers)
		snprintf(out, STREAM_NAME, "%s", s->name[server]);
	else
		snprintf(out, STREAM_NAME, "%d", server);
	return out;
}

const char *const stream_request_fields[] = {"request", "total", "wait",
    "upstream", "send", "status", "termination", "bytes", "server", "attempts",
    "hedged", "in_flight", NULL};

#define AT(member) offsetof(struct stream_request, member)

/* Fields that are a time between two stamps, or a number. */
static const struct {
	const char *name;
	size_t from, to;
} spans[] = {{"wait", AT(received_ns), AT(attempt_ns[0])},
    {"upstream", AT(written_ns), AT(answered_ns)},
    {"send", AT(answered_ns), AT(finished_ns)}};
static const struct {
	const char *name;
	size_t at;
} numbers[] = {{"status", AT(status)}, {"bytes", AT(bytes)},
    {"attempts", AT(attempts)}, {"in_flight", AT(in_flight)}};

static uint64_t
number_at(const struct stream_request *r, size_t at)
{
	return *(const uint64_t *)((const char *)r + at);
}

struct query_value
stream_request_lookup(const char *field, void *user)
{
	struct stream_request_query *a = user;
	const struct stream_request *r = a->request;
	struct query_value v = {.kind = QUERY_NUMBER, .text = a->text};

	for (unsigned i = 0; i < COUNT(spans); i++)
		if (strcmp(field, spans[i].name) == 0) {
			uint64_t from = number_at(r, spans[i].from);
			uint64_t to = number_at(r, spans[i].to);

			/* A number only if both stamps were seen. */
			v.kind = from == 0 || to < from ? QUERY_MISSING
							: QUERY_NUMBER;
			v.number = to - from;
			return v;
		}
	for (unsigned i = 0; i < COUNT(numbers); i++)
		if (strcmp(field, numbers[i].name) == 0) {
			v.number = number_at(r, numbers[i].at);
			return v;
		}
	if (strcmp(field, "total") == 0) {
		v.kind = r->began ? QUERY_NUMBER : QUERY_MISSING;
		v.number = stream_request_total_ns(r);
	} else if (strcmp(field, "hedged") == 0) {
		v.number = r->attempts > 1;
	} else if (strcmp(field, "termination") == 0) {
		v.kind = QUERY_TEXT;
		termination_text(r->termination, a->text);
	} else if (strcmp(field, "server") == 0) {
		v.kind = QUERY_TEXT;
		stream_server_name(a->table, r->server, a->text);
	} else if (strcmp(field, "request") == 0) {
		v.kind = QUERY_TEXT;
		snprintf(a->text, sizeof(a->text), "%016llx",
		    (unsigned long long)r->id);
	} else {
		v.kind = QUERY_MISSING;
	}
	return v;
}
