/* path.c: the critical path, as legs that follow each other.
 *
 *	client -> network -> Tailor -> (its queue) -> the attempt whose response
 *	was used -> network -> the server's socket -> its threads -> network
 *	-> Tailor -> network -> client
 *
 * Each leg ends at a recorded moment, never before the leg in front of it
 * ended, and makes claims for the time between.  A moment that was not recorded
 * ends no leg: its time belongs to the leg around it.  A leg of which only the
 * two ends are known is claimed as what it must be (bytes between two sockets
 * are in TCP), or as not explained if its ends leave that open. */
#include "talechain/claims/explainer.h"

/* Reading a request in one piece takes no longer than this. */
#define READ_ONCE_NS (100 * NS_PER_US)
/* Choosing a server takes less than this; more is a wait for a server. */
#define CHOICE_NS NS_PER_MS
#define SUMS_MAX 1000	  /* sums of one attempt */
#define RESPONSES_MAX 200 /* legs to responses to other requests */

/* Make the next leg, from the end of the last one to a moment, and claim it as
 * like says.  False: the leg is empty, or the moment is not known. */
static bool
leg_to(struct explainer *ex, int64_t end, const struct claim *like)
{
	struct claim c = *like;

	if (end == NEVER)
		return false;
	end = moment_cut(ex->t, end);
	if (end <= ex->leg_end_ns)
		return false;
	ex->leg_begin_ns = ex->leg_end_ns;
	ex->leg_end_ns = end;
	c.begin_ns = ex->leg_begin_ns;
	c.end_ns = ex->leg_end_ns;
	claim_add(ex, &c);
	cause_gaps(ex);
	cause_unsampled(ex, like);
	cause_unread(ex, like);
	return true;
}

/* Claim what a thread did within the leg. */
static void
leg_thread(struct explainer *ex, struct claim like, uint32_t tid)
{
	like.tid = tid;
	if (thread_is_watched(ex, tid) && !thread_is(ex, tid, ROLE_IO_URING))
		threads_walk(ex, &like, ex->leg_begin_ns, ex->leg_end_ns);
}

/* A claim about Tailor or the way to it, without its times. */
static struct claim
stage(enum tale_cause cause, const char *note)
{
	return (struct claim){
	    .cause = cause,
	    .rank = cause == TALE_CAUSE_UNKNOWN ? RANK_NOTHING : RANK_STAGE,
	    .attempt = -1,
	    .cpu = -1,
	    .note = note,
	};
}

/* A claim about an attempt's server, without its times. */
static struct claim
stage_at(enum tale_cause cause, int attempt, const char *note)
{
	struct claim c = stage(cause, note);

	c.attempt = attempt;
	return c;
}

/* Change a claim about a server's thread to not observed if that thread is not
 * watched, or is io_uring's: its work is then in no event. */
static void
not_if_unwatched(const struct explainer *ex, struct claim *c, uint32_t tid)
{
	bool io_uring = thread_is(ex, tid, ROLE_IO_URING);

	if (!ex->chain.kernel || tid == 0 ||
	    (thread_is_watched(ex, tid) && !io_uring))
		return;
	c->cause = TALE_CAUSE_NOT_OBSERVED;
	c->rank = RANK_NOTHING;
	c->tid = tid;
	if (io_uring)
		c->note = "belongs to io_uring: no event shows which thread of "
			  "the server had the request";
	else if (tale_thread_find(ex->t, tid) != NULL)
		c->note = "is in a process that is not watched";
	else
		c->note = "is one more than a timeline follows";
}

/* Make a leg, and claim what Tailor's own thread did in it. */
static void
leg_proxy(struct explainer *ex, int64_t end, const struct claim *like)
{
	if (leg_to(ex, end, like))
		leg_thread(ex, *like, ex->chain.proxy_tid);
}

/* Make the legs from the client's schedule until Tailor has the request. */
static void
path_in(struct explainer *ex)
{
	const struct tale_chain *c = &ex->chain;
	struct claim late = stage(TALE_CAUSE_CLIENT_SEND,
	    "the client sent the request later than planned");
	struct claim way =
	    stage(TALE_CAUSE_UNKNOWN, "on its way from the client to Tailor");
	struct claim net =
	    stage(TALE_CAUSE_NETWORK, "the request was on its way to Tailor");
	struct claim queue = stage(
	    TALE_CAUSE_ACCEPT_QUEUE, "the connection waited to be accepted");
	struct claim unread =
	    stage(TALE_CAUSE_PROXY, "Tailor had not yet read the request");
	struct claim whole =
	    stage(TALE_CAUSE_CLIENT_SEND, "the client was still sending it");
	struct claim connect = stage(TALE_CAUSE_CLIENT_NETWORK, NULL);
	int64_t connecting = moment_at(ex->t, ex->t->request.connecting);
	bool once = moment_ordered(c->first_byte, c->received) &&
		    c->received - c->first_byte < READ_ONCE_NS;

	if (ex->t->request.synacks == 0)
		connect = stage(TALE_CAUSE_ACCEPT_QUEUE,
		    "the client was connecting, and Tailor's accept queue had "
		    "been full");
	connect.likely = true; /* the client may have had no request yet */
	if (connecting != NEVER) {
		leg_to(ex, connecting, &late);
		leg_to(
		    ex, c->net_in != NEVER ? c->net_in : c->accepted, &connect);
	}
	leg_to(ex, c->client_sent, &late);
	if (leg_to(ex, c->net_in, &net))
		cause_tcp(ex, &net, ex->t->cookie[TALE_SOCKET_CLIENT_PEER],
		    "the request");
	if (c->net_in != NEVER) {
		leg_proxy(ex, c->accepted, &queue);
		leg_proxy(ex, c->first_byte, &unread);
	} else {
		leg_to(ex, c->first_byte, &way);
	}
	if (c->net_whole != NEVER) {
		leg_to(ex, c->net_whole, &whole);
		once = true;
	}
	if (once) {
		unread.note = "Tailor read the request";
		leg_proxy(ex, c->received, &unread);
	} else {
		leg_to(ex, c->received, &whole);
	}
}

/* Make the leg of a wait in Tailor's queue, whatever Tailor's thread does
 * meanwhile.  If that thread at last had no CPU to take the request out, this
 * is claimed as a cause of its own. */
static void
leg_queue(struct explainer *ex, int64_t end)
{
	struct claim queue = stage(TALE_CAUSE_PROXY_QUEUE, NULL);
	const struct thread_interval *p = NULL;
	int64_t ready_ns = NEVER;

	if (!leg_to(ex, end, &queue))
		return;
	while ((p = threads_next(ex, ex->chain.proxy_tid, p, ex->leg_end_ns)) !=
	       NULL)
		if (p->state == THREAD_READY || p->state == THREAD_PREEMPTED ||
		    p->state == THREAD_THROTTLED)
			ready_ns = p->begin_ns;
	queue.tid = ex->chain.proxy_tid;
	if (ready_ns != NEVER && thread_is_watched(ex, queue.tid))
		threads_walk(ex, &queue, ready_ns, ex->leg_end_ns);
}

/* Tailor had the request and no server had it yet: claim a wait in the queue,
 * or brief if that took less than CHOICE_NS. */
static void
path_wait(struct explainer *ex, int64_t end, const struct claim *brief)
{
	if (end != NEVER &&
	    moment_cut(ex->t, end) - ex->leg_end_ns >= CHOICE_NS)
		leg_queue(ex, end);
	else
		leg_proxy(ex, end, brief);
}

/* Make the legs to the end of a request that no server has, whatever its
 * status. */
static void
path_unserved(struct explainer *ex)
{
	const struct tale_chain *c = &ex->chain;
	struct claim own =
	    stage(TALE_CAUSE_PROXY, "Tailor sent the response itself");
	int64_t end = c->committed != NEVER ? c->committed : c->finished;

	path_wait(ex, end != NEVER ? end : ex->s->total_ns, &own);
	leg_proxy(ex, c->finished, &own);
}

/* Make the legs from Tailor's receipt of the request to its first attempt. */
static void
path_queue(struct explainer *ex, int i)
{
	const struct chain_attempt *a = &ex->chain.attempt[i];
	struct claim choice =
	    stage(TALE_CAUSE_PROXY, "Tailor chose a server and wrote to it");
	struct claim connect = stage_at(
	    TALE_CAUSE_NETWORK, i, "Tailor was connecting to the server");
	struct claim kept = stage_at(TALE_CAUSE_SWITCHED, i,
	    "which closed the keep-alive connection without a response");

	if (!moment_ordered(a->chosen, a->written) ||
	    a->written - a->chosen < CHOICE_NS) {
		path_wait(ex, a->written, &choice);
		return;
	}
	path_wait(ex, a->chosen, &choice);
	if (leg_to(ex, a->again, &kept))
		cause_pauses(ex, i);
	leg_to(ex, a->written, &connect);
}

/* Make the legs of attempts that were never written, and of the waits between
 * them. */
static void
path_unwritten(struct explainer *ex)
{
	struct claim choice = stage(TALE_CAUSE_PROXY, "Tailor chose a server");
	struct claim connect =
	    stage(TALE_CAUSE_NETWORK, "Tailor was connecting to a server");
	int64_t end = ex->s->total_ns;

	if (ex->chain.finished != NEVER)
		end = ex->chain.finished;
	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		const struct chain_attempt *a = &ex->chain.attempt[i];

		if (a->chosen == NEVER || ex->t->request.attempt[i].server < 0)
			continue;
		path_wait(ex, a->chosen, &choice);
		leg_to(ex, a->ended != NEVER ? a->ended : end, &connect);
	}
}

/* Claim the time between two of the application's events. */
static void
claim_application(struct explainer *ex, int i, enum tale_cause cause,
    int64_t begin, int64_t end)
{
	struct claim c = stage_at(cause, i, NULL);

	c.rank = RANK_APP;
	c.begin_ns = moment_cut(ex->t, begin);
	c.end_ns = moment_cut(ex->t, end);
	if (moment_ordered(begin, end))
		claim_add(ex, &c);
}

/* Make all claims about the present leg, which is at a server. */
static void
claim_server(struct explainer *ex, int i)
{
	const struct chain_attempt *a = &ex->chain.attempt[i];

	claim_application(
	    ex, i, TALE_CAUSE_BACKEND_QUEUE, a->app_receive, a->app_start);
	claim_application(ex, i, TALE_CAUSE_WORK, a->app_start, a->app_finish);
	cause_classes(ex, i);
	cause_stops(ex, i);
	cause_pauses(ex, i);
}

/* Make the legs in which the server's threads had the request.
 *   out  the leg before; likely if its end was not seen, as with an accept that
 *        the server's socket defers */
static void
path_threads(struct explainer *ex, int i, const struct claim *out)
{
	const struct chain_attempt *a = &ex->chain.attempt[i];
	struct claim queue = stage_at(TALE_CAUSE_BACKEND_QUEUE, i, NULL);
	struct claim work = stage_at(TALE_CAUSE_UNKNOWN, i,
	    "at its server: what its threads did is not known");
	struct claim busy = queue;
	uint32_t last = a->sender != 0 ? a->sender : a->app_tid[2];

	queue.value = other_request(
	    ex, i, a->taker, a->net_in != NEVER ? a->net_in : a->written);
	queue.likely = out->likely;
	not_if_unwatched(ex, &queue, a->taker);
	not_if_unwatched(ex, &work, last != 0 ? last : a->taker);
	if (leg_to(ex, a->taken, &queue)) {
		if (out->likely)
			cause_tcp(ex, out, ex->t->cookie[TALE_SOCKET_A + 2 * i],
			    "the request");
		leg_thread(ex, queue, a->taker);
		if (ex->chain.kernel)
			cause_losses(ex, RANK_LOSS);
		claim_server(ex, i);
	}
	for (int n = 0;
	     n < RESPONSES_MAX && leg_to(ex, other_responded(ex, &busy), &busy);
	     n++) {
		cause_losses(ex, RANK_LOSS);
		claim_server(ex, i);
	}
	if (!leg_to(ex, a->sent, &work))
		return;
	if (ex->chain.kernel) {
		struct claim run = stage_at(TALE_CAUSE_WORK, i, NULL);

		run.likely = thread_is(ex, a->taker, ROLE_IO_URING);
		leg_thread(ex, run, last != 0 ? last : a->taker);
		cause_other(ex, i, last != 0 ? last : a->taker);
		cause_losses(ex, RANK_LOSS);
	}
	claim_server(ex, i);
}

/* Make the legs from the last byte of a response at Tailor until its server
 * closes the connection, where Tailor waits for that, too. */
static void
path_close(struct explainer *ex, int i)
{
	struct chain_attempt *a = &ex->chain.attempt[i];
	struct claim read =
	    stage(TALE_CAUSE_PROXY, "Tailor had not yet read the response");
	struct claim in = stage_at(TALE_CAUSE_NETWORK, i,
	    "the end of the response was on its way to Tailor");
	struct claim run = stage_at(TALE_CAUSE_WORK, i, NULL);
	struct claim open = stage_at(TALE_CAUSE_UNKNOWN, i,
	    "at its server, which had sent all but the end of the response: no "
	    "event shows what closed its connection");

	if (a->closed == NEVER) {
		leg_proxy(ex, a->read, &read);
		if (leg_to(ex, a->fin != NEVER ? a->fin : a->complete, &open))
			claim_server(ex, i);
		return;
	}
	open.note = "at its server: what its threads did is not known";
	not_if_unwatched(ex, &open, a->closer);
	a->begun = NEVER; /* no wait from here on is for room in the socket */
	if (leg_to(ex, a->closed, &open)) {
		leg_thread(ex, run, a->closer);
		cause_other(ex, i, a->closer);
		cause_losses(ex, RANK_LOSS);
		claim_server(ex, i);
	}
	leg_to(ex, a->fin, &in);
}

/* Make the legs from Tailor's choice until a server's thread began to read, by
 * its sums.  On one machine sent bytes arrive at once, unless softirqs are
 * late. */
static void
path_to_sums(struct explainer *ex, int i, const struct epoch_sums *sums,
    int64_t chosen, const struct claim *open)
{
	struct claim own = stage(TALE_CAUSE_PROXY,
	    "Tailor chose a server, and had not yet written to it");
	struct claim queue = stage_at(TALE_CAUSE_BACKEND_QUEUE, i, NULL);
	int64_t sent = sums->begin_ns - sums->way_ns;
	bool known = sums->way_ns != 0 && sent >= chosen;

	own.rank = queue.rank = RANK_SUM;
	queue.likely = true;
	if (known)
		leg_to(ex, sent, &own);
	if (leg_to(ex, sums->begin_ns, known ? &queue : open))
		claim_server(ex, i);
}

/* Make the legs at a server while the kernel's events were paused, by its sums:
 * until each of its sends, and until Tailor read the response. */
static void
path_sums(struct explainer *ex, int i, int64_t end, const struct claim *open)
{
	const struct chain_attempt *a = &ex->chain.attempt[i];
	int64_t chosen = a->chosen != NEVER ? a->chosen : a->written;
	int64_t from = chosen;
	struct claim read =
	    stage(TALE_CAUSE_PROXY, "Tailor had not yet read the response");
	struct epoch_sums sums;
	int legs = 0;

	for (int n = 0; n < SUMS_MAX && from != NEVER &&
			sums_next(ex, i, from, end, &sums);
	     n++) {
		from = sums.end_ns;
		/* Later pieces of a response are claimed only after its
		 * first. */
		if (legs == 0 && (sums.marks & TALECHAIN_EPOCH_MORE) != 0)
			continue;
		if (legs == 0)
			path_to_sums(ex, i, &sums, chosen, open);
		else if (leg_to(ex, sums.begin_ns, open))
			claim_server(ex, i);
		legs++;
		if (!leg_to(ex, sums.end_ns, open))
			continue;
		if (sums.begin_ns >= ex->leg_begin_ns)
			sums_claim(ex, i, &sums);
		claim_server(ex, i);
	}
	read.rank = RANK_SUM;
	read.likely = true;
	if (legs == 1)
		leg_to(ex, a->first_byte, &read);
}

/* Make the legs from Tailor's write to a server until its response, or the
 * end. */
static void
path_attempt(struct explainer *ex, int i)
{
	const struct tale *t = ex->t;
	const struct chain_attempt *a = &ex->chain.attempt[i];
	struct claim out = stage_at(
	    TALE_CAUSE_NETWORK, i, "the request was on its way to the server");
	struct claim in = stage_at(
	    TALE_CAUSE_NETWORK, i, "the response was on its way to Tailor");
	struct claim open = stage_at(TALE_CAUSE_UNKNOWN, i,
	    ex->chain.kernel ? NULL
	    : t->stale ? "what it did is not known: events were overwritten"
		       : "what it did is not known without kernel events");
	struct claim read =
	    stage(TALE_CAUSE_PROXY, "Tailor had not yet read the response");
	bool seen = a->taken != NEVER && a->sent != NEVER;
	bool gone = a->first_byte == NEVER && a->ended != NEVER;
	int64_t end = gone ? a->ended : a->complete;

	if (end == NEVER)
		end = ex->s->total_ns;
	if (seen) {
		out.likely = a->net_in == NEVER;
		in.likely = a->back == NEVER;
		if (leg_to(ex, a->net_in, &out))
			cause_tcp(ex, &out, t->cookie[TALE_SOCKET_A + 2 * i],
			    "the request");
		path_threads(ex, i, &out);
		if (leg_to(ex, a->back != NEVER ? a->back : a->left, &in))
			cause_tcp(ex, &in,
			    t->cookie[TALE_SOCKET_A_PEER + 2 * i],
			    "the response");
		if (a->by_close && (a->fin == NEVER || a->fin > a->back))
			path_close(ex, i);
		leg_proxy(ex, a->complete, &read);
		return;
	}
	path_sums(ex, i, end, &open);
	if (leg_to(ex, end, &open))
		claim_server(ex, i);
	if (gone)
		path_unserved(ex);
}

/* Make the legs of the response on its way to the client. */
static void
path_out(struct explainer *ex)
{
	const struct tale_chain *c = &ex->chain;
	uint64_t ours = ex->t->cookie[TALE_SOCKET_CLIENT];
	struct claim forward =
	    stage(TALE_CAUSE_PROXY, "Tailor forwarded the response");
	struct claim net = stage(
	    TALE_CAUSE_NETWORK, "the response was on its way to the client");
	struct claim late = stage(TALE_CAUSE_CLIENT_LATE,
	    "the response had arrived; the client read it later");
	struct claim way =
	    stage(TALE_CAUSE_UNKNOWN, "on its way from Tailor to the client");
	struct claim away =
	    stage(ex->t->request.resent > 0 ? TALE_CAUSE_CLIENT_NETWORK
					    : TALE_CAUSE_WINDOW,
		"the response");
	int64_t there = c->client_net != NEVER ? c->client_net : c->left;

	if (leg_to(ex, c->finished, &forward)) {
		leg_thread(ex, forward, c->proxy_tid);
		cause_tcp(ex, &net, ours, "the response");
	}
	if (leg_to(ex, there, &net))
		cause_tcp(ex, &net, ours, "the response");
	if (c->client_net != NEVER)
		leg_to(ex,
		    c->client_received != NEVER ? c->client_received
						: c->client_read,
		    &late);
	if (instant_is_set(ex->t->request.acknowledged)) {
		leg_to(ex, ex->s->total_ns, &away);
		return;
	}
	/* The client's end of the connection is not observed, but Tailor's
	 * retransmissions are. */
	if (leg_to(ex, ex->s->total_ns, &way) && c->client_net == NEVER)
		cause_tcp(ex, &net, ours, "the response");
}

void
path_claim(struct explainer *ex)
{
	const struct tale_chain *c = &ex->chain;
	const struct chain_attempt *a = c->attempt;
	struct claim wasted = stage_at(TALE_CAUSE_SWITCHED, 0, NULL);

	ex->leg_begin_ns = ex->leg_end_ns = 0;
	path_in(ex);
	if (c->winner < 0) {
		path_unwritten(ex);
		path_unserved(ex);
		path_out(ex);
		return;
	}
	path_queue(ex, c->winner == 1 && a[0].made ? 0 : c->winner);
	if (c->winner == 1 && a[0].made && leg_to(ex, a[1].written, &wasted))
		cause_pauses(ex, 0);
	path_attempt(ex, c->winner);
	path_out(ex);
}
