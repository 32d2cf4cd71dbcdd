/* ending.c: the first sentence about a request that did not end normally.
 *
 *	<status>: <what happened>; <what else was tried>; <why no more was>.
 *
 * What happened is the proxy's own observation ("reset the connection").  A
 * process counts as killed only if an event has the signal, and as ended only
 * if an event has its end; that Tailor saw both does not make one the cause of
 * the other. */
#include <inttypes.h>
#include <signal.h>

#include "talechain/events/termination.h"
#include "talechain/words/say.h"

#define TARGET_MAX 40 /* bytes of a target in a sentence */

/* --- words for tokens ----------------------------------------------------- */

struct reason_words {
	const char *token, *words;
};

/* The words for a token, or NULL. */
static const char *
token_words(const struct reason_words *of, size_t n, const char *token)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(of[i].token, token) == 0)
			return of[i].words;
	return NULL;
}
#define WORDS(table, token) \
	token_words(table, sizeof(table) / sizeof((table)[0]), token)

/* Why Tailor refused a request; a reason that is not here is the name of a rule
 * in docs/http.md. */
static const struct reason_words refused[] = {
    {"body_too_large", "the body is larger than proxy.body_max"},
    {"request_line_too_long", "the request line is longer than 16 KiB"},
    {"head_too_large", "the head is larger than 16 KiB"},
    {"head_too_large_forwarded",
	"the head, with what Tailor adds, is larger than 17 KiB"},
    {"too_many_fields", "the head has more than 100 fields"},
    {"method_not_allowed", "the method is CONNECT or TRACE"},
    {"method_unknown", "the method is not known"},
    {"transfer_coding", "the transfer coding is not chunked"},
    {"version_unsupported", "the version is not HTTP/1.0 or HTTP/1.1"},
    {"expectation", "Expect is not 100-continue"},
    {"tls_on_plain_port", "the client began TLS, which Tailor does not speak"},
    {"half_open", "the client has too many unfinished requests"},
};

/* Words for what Tailor lacked. */
static const struct reason_words lacked[] = {
    {"overloaded", "Tailor had no memory for the request, or already had "
		   "proxy.connections_max requests"},
    {"no_memory", "Tailor had no memory for the request"},
    {"spool_full", "Tailor had no room for the body (proxy.spool_max)"},
    {"spool_failed", "Tailor could not write the body to a file"},
    {"spool_unreadable", "Tailor could not read the body from the file"},
    {"no_event", "the kernel could not watch the server's socket"},
};

/* Words for what the latest server did, after its name. */
static const struct reason_words did[] = {
    {"closed", "closed the connection"},
    {"reset", "reset the connection"},
    {"refused", "could not be connected to"},
    {"connect_failed", "could not be connected to"},
    {"connect_timeout",
	"did not accept a connection within proxy.connect_timeout"},
    {"deadline", "had not responded when proxy.request_timeout expired"},
    {"no_answer", "did not respond in time"},
    {"extra_bytes", "sent bytes that belong to no response"},
    {"drain_timeout", "was being drained, and servers[].drain_timeout expired"},
    {"response_head_too_large", "sent a head that is too large"},
};

/* Words for what an earlier attempt came to, by its outcome. */
static const struct reason_words came[] = {
    {"refused", "could not be connected to"},
    {"unanswered", "ended the connection without a response"},
    {"cut", "ended the connection in the middle of its response"},
    {"malformed", "sent a response that Tailor refused"},
    {"timeout", "did not accept a connection, or was drained"},
};

/* Why a request was not sent to the other server. */
static const struct reason_words refusals[] = {
    {"watching", "hedging.mode is watch"},
    {"body_size", "the body is not in memory (larger than hedging.body_max, or "
		  "too many bodies at once)"},
    {"upgrade", "the request asked for a WebSocket"},
    {"attempts", "the request had been written twice"},
    {"deadline", "too little of proxy.request_timeout was left"},
    {"optout", "the client forbade that (X-Tailor-Hedge)"},
    {"private", "the connection belongs to one authenticated client"},
    {"backup_not_ready", "no other server was ready"},
    {"pause_over", "the pause was over"},
    {"inflight_limit", "the other server had no free slot"},
    {"budget", "the budget (hedging.budget_ratio) was used up"},
    {"storm", "the servers had been swapped too often"},
    {"failing", "the other server was failing"},
    {"pushback", "the other server had asked for no hedges"},
};

/* --- the server ----------------------------------------------------------- */

/* The latest attempt, or -1. */
static int
attempt_latest(const struct tale *t)
{
	for (int i = TALE_ATTEMPTS - 1; i >= 0; i--)
		if (t->request.attempt[i].server >= 0)
			return i;
	return -1;
}

static const char *
signal_name(uint64_t number, char out[16])
{
	const char *name = number < NSIG ? sigabbrev_np((int)number) : NULL;

	if (name != NULL)
		snprintf(out, 16, "SIG%s", name);
	else
		snprintf(out, 16, "signal %" PRIu64, number);
	return out;
}

/* The first end of a server's process in the tale that the kernel or, for a
 * server that Tailor started, its wait status shows; NULL: none. */
static const struct tale_entry *
process_end(const struct explainer *ex, int attempt)
{
	uint32_t pid = tale_attempt_pid(ex->t, attempt);
	const struct tale_entry *found = NULL;

	for (size_t i = 0; i < ex->t->entries; i++) {
		const struct tale_entry *e = &ex->t->entry[i];
		const struct talechain_event *v = &e->slot.event;

		if (e->doubtful || moment_at(ex->t, e->at) < 0)
			continue;
		if (v->type == TALECHAIN_EXIT && pid != 0 && v->pid == pid)
			return e; /* it has the status */
		if (v->type == TALECHAIN_SERVER_EXIT && found == NULL &&
		    tale_attempt_of(ex->t, tale_event_server(&e->slot)) ==
			attempt)
			found = e;
	}
	return found;
}

/* The signal that killed an attempt's process, as far as events show; else
 * 0. */
static int
process_signal(const struct explainer *ex, int attempt)
{
	const struct tale_entry *e = process_end(ex, attempt);

	if (e == NULL)
		return 0;
	return (int)(e->slot.event
			 .arg[e->slot.event.type == TALECHAIN_EXIT ? 0 : 2] &
		     0x7f);
}

/* "server a was killed by SIGKILL 198 ms into the request": the end of the
 * attempt's process.  False: no event has one. */
static bool
say_process_end(const struct explainer *ex, int attempt, const struct phrase *l)
{
	const struct tale_entry *e = process_end(ex, attempt);
	const struct talechain_event *v;
	char name[NAME_SIZE], number[16], ms[32];
	uint64_t status;

	if (e == NULL)
		return false;
	v = &e->slot.event;
	status = v->type == TALECHAIN_EXIT ? v->arg[0] : v->arg[2];
	if (v->type == TALECHAIN_EXIT)
		phrase_add(l, "process %" PRIu32 " of ", v->pid);
	phrase_add(l, "%s ", attempt_name(ex, attempt, name));
	if ((status & 0x7f) != 0)
		phrase_add(
		    l, "was killed by %s", signal_name(status & 0x7f, number));
	else if (status != 0)
		phrase_add(l, "ended with status %" PRIu64, status >> 8 & 0xff);
	else
		phrase_add(l, "ended");
	phrase_add(
	    l, " %s into the request", text_ms(ms, moment_at(ex->t, e->at)));
	return true;
}

/* --- what happened -------------------------------------------------------- */

static void
say_client_left(const struct explainer *ex, enum termination_place place,
    int attempt, const struct phrase *l)
{
	char name[NAME_SIZE], ms[32];

	phrase_add(l, "the client left %s into the request, ",
	    text_ms(ms, ex->chain.finished));
	if (attempt >= 0)
		attempt_name(ex, attempt, name);
	switch (place) {
	case TERMINATION_REQUEST:
		phrase_add(l, "before all of it had arrived");
		break;
	case TERMINATION_QUEUE:
		phrase_add(l, "while the request waited for a server");
		break;
	case TERMINATION_CONNECT:
	case TERMINATION_HEAD:
		phrase_add(
		    l, "before %s had responded", attempt >= 0 ? name : "?");
		break;
	case TERMINATION_DATA:
	default:
		phrase_add(l, "in the middle of the response");
	}
}

static void
say_client_late(const struct tale_request *r, const struct phrase *l)
{
	static const struct reason_words late[] = {
	    {"timeout", "the client did not send the rest of the request in "
			"time (proxy.header_timeout, proxy.client_timeout)"},
	    {"body_too_slow", "the client sent the body too slowly"},
	    {"write_timeout", "the client read nothing for "
			      "proxy.client_timeout"},
	    {"tunnel_timeout", "neither side sent anything for "
			       "proxy.tunnel_timeout"},
	    {"deadline", "the client did not read the response for "
			 "proxy.request_timeout"},
	};
	const char *words = WORDS(late, r->reason);

	phrase_add(l, "%s", words != NULL ? words : "the client was too slow");
}

/* Say what ended the latest attempt. */
static void
say_server_end(const struct explainer *ex, enum termination_place place,
    int attempt, const struct phrase *l)
{
	const struct tale_request *r = &ex->t->request;
	const struct tale_attempt *a = &r->attempt[attempt];
	int64_t again = ex->chain.attempt[attempt].again;
	const char *words = WORDS(did, r->reason);
	char name[NAME_SIZE], ms[32], reason[32];
	bool ended =
	    strcmp(r->reason, "closed") == 0 || strcmp(r->reason, "reset") == 0;
	bool kept = !ended &&
		    termination_by(r->termination) != TERMINATION_PROXY &&
		    place == TERMINATION_HEAD && again != NEVER &&
		    strcmp(r->reason, "deadline") != 0;

	attempt_name(ex, attempt, name);
	if (place == TERMINATION_DATA && strcmp(r->reason, "deadline") == 0)
		words = "sent no more of its response for "
			"proxy.request_timeout";
	if (words == NULL) {
		phrase_add(l,
		    "the response of %s broke the rule %s "
		    "(docs/http.md)",
		    name, text_safe(reason, sizeof(reason), r->reason));
		return;
	}
	if ((ended || kept) && say_process_end(ex, attempt, l)) {
		ended = true; /* of which the time is known */
	} else if (kept) {
		phrase_add(l,
		    "%s closed the keep-alive connection %s into the request, "
		    "and then %s",
		    name, text_ms(ms, again), words);
	} else {
		phrase_add(l, "%s %s", name, words);
		if (ended)
			phrase_add(l, " %s into the request",
			    text_ms(ms, instant_is_set(a->complete)
					    ? moment_at(ex->t, a->complete)
					    : ex->chain.finished));
	}
	if (ended && place == TERMINATION_DATA)
		phrase_add(l, ", in the middle of its response");
	else if (ended && place == TERMINATION_HEAD)
		phrase_add(l, a->status == 0
				  ? ", before it responded"
				  : ", before its response was complete");
}

static void
say_resource(const struct tale_request *r, const struct phrase *l)
{
	const char *words = WORDS(lacked, r->reason);

	phrase_add(l, "%s", words != NULL ? words : "Tailor lacked a resource");
}

static void
say_refused(const struct tale_request *r, const struct phrase *l)
{
	const char *words = WORDS(refused, r->reason);
	char reason[32];

	if (words != NULL)
		phrase_add(l, "Tailor refused the request: %s", words);
	else
		phrase_add(l,
		    "Tailor refused the request, which broke the rule %s "
		    "(docs/http.md)",
		    text_safe(reason, sizeof(reason), r->reason));
}

static void
say_happened(const struct explainer *ex, enum termination_place place,
    int attempt, const struct phrase *l)
{
	const struct tale_request *r = &ex->t->request;

	switch (termination_by(r->termination)) {
	case TERMINATION_NORMAL:
	case TERMINATION_LOCAL:
	case TERMINATION_BY_COUNT:
		return;
	case TERMINATION_CLIENT:
		say_client_left(ex, place, attempt, l);
		return;
	case TERMINATION_CLIENT_LATE:
		say_client_late(r, l);
		return;
	case TERMINATION_KILLED:
		if (strcmp(r->reason, "stopped") == 0 || attempt < 0)
			phrase_add(l, "Tailor was stopping, and waited no "
				      "longer");
		else
			say_server_end(ex, place, attempt, l);
		return;
	case TERMINATION_RESOURCE:
		say_resource(r, l);
		return;
	case TERMINATION_SERVER:
	case TERMINATION_SERVER_LATE:
	case TERMINATION_PROXY:
		break;
	}
	if (strcmp(r->reason, "no_server") == 0)
		phrase_add(l, "no server was ready within proxy.server_wait");
	else if (place == TERMINATION_QUEUE)
		phrase_add(l, "no server had a free slot within %s",
		    strcmp(r->reason, "deadline") == 0 ? "proxy.request_timeout"
						       : "proxy.queue_timeout");
	else if (place == TERMINATION_REQUEST || attempt < 0)
		say_refused(r, l);
	else
		say_server_end(ex, place, attempt, l);
}

/* --- what else was tried, and why no more --------------------------------- */

/* Append what came of the first attempt, after which others were made. */
static void
say_earlier(const struct explainer *ex, const struct phrase *l)
{
	const struct tale_attempt *a = &ex->t->request.attempt[0];
	char name[NAME_SIZE];

	phrase_add(l, "; %s, which had the request first, %s",
	    attempt_name(ex, 0, name),
	    WORDS(came, a->outcome) ?: "had not responded either");
}

/* Append why a request was not sent again, if that is known. */
static void
say_refusal(const struct explainer *ex, const struct phrase *l)
{
	const struct tale_request *r = &ex->t->request;
	const char *words = WORDS(refusals, r->refusal);
	char method[16], target[TARGET_MAX], name[NAME_SIZE];

	if (strcmp(r->refusal, "method") == 0) {
		text_safe(target, sizeof(target), r->target);
		target[strcspn(target, "?")] = '\0';
		phrase_add(l,
		    "; not sent again because %s %s is not in "
		    "hedging.repeatable",
		    text_safe(method, sizeof(method), r->method), target);
	} else if (words != NULL) {
		phrase_add(l, "; not sent again because %s", words);
	} else if (termination_by(r->termination) == TERMINATION_SERVER_LATE &&
		   ex->t->pauses == 0) {
		phrase_add(l,
		    "; not sent again because Tailor saw no pause of %s",
		    attempt_name(ex, 0, name));
	}
}

static void
say_no_more(const struct explainer *ex, enum termination_place place,
    int attempt, const struct phrase *l)
{
	bool stopped = strcmp(ex->t->request.reason, "stopped") == 0;

	if (place == TERMINATION_DATA && !stopped)
		phrase_add(l, "; Tailor cut the client's connection because "
			      "part of the response had been sent");
	else if (attempt < 0)
		phrase_add(l, "; no server received the request");
	else if (attempt > 0 || place == TERMINATION_QUEUE)
		say_earlier(ex, l);
	else if (place != TERMINATION_DATA)
		say_refusal(ex, l);
}

bool
say_ending(const struct explainer *ex, const struct phrase *l)
{
	const struct tale_request *r = &ex->t->request;
	enum termination_by by = termination_by(r->termination);
	enum termination_place place = termination_place(r->termination);
	int attempt = attempt_latest(ex->t);

	if (by == TERMINATION_NORMAL)
		return false;
	if (place == TERMINATION_DATA)
		phrase_add(l, "%d, but cut: ", r->status);
	else if (by == TERMINATION_CLIENT || r->status == 0)
		phrase_add(l, "no response: ");
	else
		phrase_add(l, "%d: ", r->status);
	say_happened(ex, place, attempt, l);
	if (by != TERMINATION_CLIENT)
		say_no_more(ex, place, attempt, l);
	phrase_add(l, ".");
	return true;
}

bool
ending_has_way(const struct tale *t)
{
	enum termination_place place =
	    termination_place(t->request.termination);

	return place == TERMINATION_HEAD || place == TERMINATION_DATA ||
	       t->request.termination == 0;
}

/* Advice about the end itself, or NULL. */
static const char *
advice_on_end(const struct explainer *ex)
{
	static const struct reason_words advice[] = {
	    {"no_server", "see in Tailor's log why no server was ready"},
	    {"queue_timeout", "raise servers[].connections_max, or make the "
			      "servers faster: their slots were all in use"},
	    {"refused", "see if the server listens there (servers[].address)"},
	    {"connect_failed",
		"see if the server listens there (servers[].address)"},
	    {"connect_timeout", "see if the server accepts connections (ss "
				"-lt: Recv-Q), or raise proxy.connect_timeout"},
	    {"deadline", "find out what took the server so long, or raise "
			 "proxy.request_timeout"},
	    {"drain_timeout", "raise servers[].drain_timeout"},
	    {"stopped", "raise proxy.stop_timeout, or proxy.stop_streams"},
	    {"overloaded", "raise proxy.connections_max"},
	    {"spool_full", "raise proxy.spool_max"},
	    {"half_open", "raise proxy.connections_per_address_max"},
	    {"body_too_large", "raise proxy.body_max"},
	};
	const struct tale_request *r = &ex->t->request;
	enum termination_by by = termination_by(r->termination);
	int attempt = attempt_latest(ex->t);

	if (by == TERMINATION_CLIENT_LATE)
		return NULL;
	if (by == TERMINATION_SERVER && attempt >= 0 &&
	    process_signal(ex, attempt) == SIGKILL)
		return "find out what killed it; the kernel's log (journalctl "
		       "-k) shows kills by the out-of-memory killer";
	if (termination_place(r->termination) == TERMINATION_QUEUE &&
	    strcmp(r->reason, "deadline") == 0)
		return WORDS(advice, "queue_timeout");
	if (by == TERMINATION_SERVER && WORDS(advice, r->reason) == NULL)
		return "see the server's own log for why it ended the "
		       "connection";
	return WORDS(advice, r->reason);
}

unsigned
ending_advice(const struct explainer *ex, const char *out[ENDING_ADVICE])
{
	const struct tale_request *r = &ex->t->request;
	unsigned n = 0;

	if (r->termination == 0)
		return 0;
	out[n] = advice_on_end(ex);
	n += out[n] != NULL;
	if (strcmp(r->refusal, "method") == 0)
		out[n++] = "if this request may be sent twice, name it in "
			   "hedging.repeatable";
	return n;
}
