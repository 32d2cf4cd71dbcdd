/*
 * story_path.c: the critical path, as legs that follow each other.
 *
 *	client -> network -> Tailor -> (its queue) -> the attempt whose answer
 *	was used -> network -> the server's socket -> its threads -> network
 *	-> Tailor -> network -> client
 *
 * Each leg ends at a moment somebody recorded, never before the leg in front
 * of it ended, and makes claims for the time between; what nobody recorded is
 * no leg of its own but belongs to the one around it.  A leg of which only
 * the two ends are known is claimed as what it must be (bytes between two
 * sockets are in TCP); where its ends leave that open, as not explained.
 */
#include "talechain/explain/explainer.h"

/* Reading a request in one piece takes no longer. */
#define READ_ONCE_NS (100 * NS_PER_US)
/* Choosing a server takes no longer; then it is waiting for one. */
#define CHOICE_NS NS_PER_MS

void
path_add(struct telling *tl, const struct claim *c)
{
	struct claim cut = *c;

	if (cut.begin_ns < tl->leg_begin_ns)
		cut.begin_ns = tl->leg_begin_ns;
	if (cut.end_ns > tl->leg_end_ns)
		cut.end_ns = tl->leg_end_ns;
	if (cut.begin_ns >= cut.end_ns)
		return;
	tl->claim = telling_grow(&tl->failed, tl->claim, tl->claims,
	    &tl->claim_room, sizeof(*tl->claim));
	if (!tl->failed)
		tl->claim[tl->claims++] = cut;
}

/*
 * Go on to a moment: the leg from where the last one ended.  False if it is
 * empty or the moment is not known.  The leg is claimed as like says.
 */
static bool
leg_to(struct telling *tl, int64_t end, const struct claim *like)
{
	struct claim c = *like;

	if (end == NEVER)
		return false;
	end = telling_cut(tl, end);
	if (end <= tl->leg_end_ns)
		return false;
	tl->leg_begin_ns = tl->leg_end_ns;
	tl->leg_end_ns = end;
	c.begin_ns = tl->leg_begin_ns;
	c.end_ns = tl->leg_end_ns;
	path_add(tl, &c);
	cause_gaps(tl);
	return true;
}

/* What a thread did within the leg. */
static void
leg_thread(struct telling *tl, struct claim like, uint32_t tid)
{
	like.tid = tid;
	if (tid != 0 && tl->kernel)
		threads_walk(tl, &like, tl->leg_begin_ns, tl->leg_end_ns);
}

/* The beginning of a claim about Tailor itself or the way to it. */
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

/* The same about a server. */
static struct claim
stage_at(enum tale_cause cause, int attempt, const char *note)
{
	struct claim c = stage(cause, note);

	c.attempt = attempt;
	return c;
}

/* Tailor's own thread, on the way or at work. */
static void
leg_proxy(struct telling *tl, int64_t end, const struct claim *like)
{
	if (leg_to(tl, end, like))
		leg_thread(tl, *like, tl->chain.proxy_tid);
}

/* From the client's intention to the request in Tailor's hands. */
static void
path_in(struct telling *tl)
{
	const struct story_chain *c = &tl->chain;
	struct claim late = stage(
	    TALE_CAUSE_CLIENT_SEND, "the client sent it later than planned");
	struct claim way =
	    stage(TALE_CAUSE_UNKNOWN, "on its way from the client to Tailor");
	struct claim net =
	    stage(TALE_CAUSE_NETWORK, "the request was on its way to Tailor");
	struct claim queue = stage(TALE_CAUSE_ACCEPT_QUEUE, NULL);
	struct claim unread =
	    stage(TALE_CAUSE_PROXY, "Tailor had not yet read the request");
	struct claim whole =
	    stage(TALE_CAUSE_CLIENT_SEND, "the client was still sending it");
	bool once = telling_ordered(c->first_byte, c->received) &&
		    c->received - c->first_byte < READ_ONCE_NS;

	leg_to(tl, c->client_sent, &late);
	if (leg_to(tl, c->net_in, &net))
		cause_tcp(tl, &net, tl->t->cookie[TALE_SOCKET_CLIENT_PEER],
		    "the request");
	if (c->net_in != NEVER) {
		leg_proxy(tl, c->accepted, &queue);
		leg_proxy(tl, c->first_byte, &unread);
	} else {
		leg_to(tl, c->first_byte, &way);
	}
	if (c->net_whole != NEVER) {
		leg_to(tl, c->net_whole, &whole);
		once = true;
	}
	if (once) {
		unread.note = "Tailor read the request";
		leg_proxy(tl, c->received, &unread);
	} else {
		leg_to(tl, c->received, &whole);
	}
}

/* From there to the first attempt. */
static void
path_queue(struct telling *tl, int64_t written)
{
	const struct story_chain *c = &tl->chain;
	struct claim queue =
	    stage(TALE_CAUSE_PROXY_QUEUE, "it waited in Tailor for a server");
	struct claim choice =
	    stage(TALE_CAUSE_PROXY, "Tailor chose a server and wrote to it");

	if (telling_ordered(c->received, written) &&
	    written - c->received >= CHOICE_NS)
		leg_proxy(tl, written, &queue);
	else
		leg_proxy(tl, written, &choice);
}

/* The application's words about the leg at its server. */
static void
claim_application(struct telling *tl, int i)
{
	const struct story_attempt *a = &tl->chain.attempt[i];
	struct claim c = stage_at(TALE_CAUSE_BACKEND_QUEUE, i, NULL);

	c.rank = RANK_APP;
	if (telling_ordered(a->app_receive, a->app_start)) {
		c.begin_ns = telling_cut(tl, a->app_receive);
		c.end_ns = telling_cut(tl, a->app_start);
		path_add(tl, &c);
	}
	if (telling_ordered(a->app_start, a->app_finish)) {
		c.cause = TALE_CAUSE_WORK;
		c.begin_ns = telling_cut(tl, a->app_start);
		c.end_ns = telling_cut(tl, a->app_finish);
		path_add(tl, &c);
	}
}

/* All that may be said of the present leg at a server. */
static void
claim_server(struct telling *tl, int i)
{
	claim_application(tl, i);
	cause_classes(tl, i);
	cause_pauses(tl, i);
}

/* The leg in which the server's threads had the request. */
static void
path_threads(struct telling *tl, int i)
{
	const struct story_attempt *a = &tl->chain.attempt[i];
	struct claim queue = stage_at(TALE_CAUSE_BACKEND_QUEUE, i, NULL);
	struct claim work = stage_at(
	    TALE_CAUSE_UNKNOWN, i, "what its threads did is not known");
	uint32_t last = a->sender != 0 ? a->sender : a->app_tid[2];

	if (leg_to(tl, a->taken, &queue)) {
		leg_thread(tl, queue, a->taker);
		claim_server(tl, i);
	}
	if (!leg_to(tl, a->sent, &work))
		return;
	if (tl->kernel) {
		struct claim run = stage_at(TALE_CAUSE_WORK, i, NULL);

		leg_thread(tl, run, last != 0 ? last : a->taker);
		cause_losses(tl);
	}
	claim_server(tl, i);
}

/* From Tailor's write to a server until end, or the answer. */
static void
path_attempt(struct telling *tl, int i)
{
	const struct tale *t = tl->t;
	const struct story_attempt *a = &tl->chain.attempt[i];
	struct claim out = stage_at(
	    TALE_CAUSE_NETWORK, i, "the request was on its way to the server");
	struct claim in = stage_at(
	    TALE_CAUSE_NETWORK, i, "the answer was on its way to Tailor");
	struct claim read =
	    stage(TALE_CAUSE_PROXY, "Tailor had not yet read the answer");
	struct claim open = stage_at(TALE_CAUSE_UNKNOWN, i,
	    tl->kernel ? NULL
		       : "what it did is not known without kernel events");
	bool seen = a->taken != NEVER && a->sent != NEVER;

	if (seen) {
		if (leg_to(tl, a->net_in != NEVER ? a->net_in : a->taken, &out))
			cause_tcp(tl, &out, t->cookie[TALE_SOCKET_A + 2 * i],
			    "the request");
		path_threads(tl, i);
		if (leg_to(tl, a->back != NEVER ? a->back : a->left, &in))
			cause_tcp(tl, &in,
			    t->cookie[TALE_SOCKET_A_PEER + 2 * i],
			    "the answer");
		leg_proxy(tl, a->complete, &read);
		return;
	}
	if (leg_to(tl, a->complete != NEVER ? a->complete : tl->s->total_ns,
		&open))
		claim_server(tl, i);
}

/* The answer on its way to the client. */
static void
path_out(struct telling *tl)
{
	const struct story_chain *c = &tl->chain;
	uint64_t ours = tl->t->cookie[TALE_SOCKET_CLIENT];
	struct claim forward =
	    stage(TALE_CAUSE_PROXY, "Tailor forwarded the answer");
	struct claim net = stage(
	    TALE_CAUSE_NETWORK, "the answer was on its way to the client");
	struct claim late = stage(TALE_CAUSE_CLIENT_LATE, NULL);
	struct claim way =
	    stage(TALE_CAUSE_UNKNOWN, "on its way from Tailor to the client");
	int64_t there = c->client_net != NEVER ? c->client_net : c->left;

	if (leg_to(tl, c->finished, &forward)) {
		leg_thread(tl, forward, c->proxy_tid);
		cause_tcp(tl, &net, ours, "the answer");
	}
	if (leg_to(tl, there, &net))
		cause_tcp(tl, &net, ours, "the answer");
	if (c->client_net != NEVER)
		leg_to(tl,
		    c->client_received != NEVER ? c->client_received
						: c->client_read,
		    &late);
	/* Its end of the connection is not here; what we sent again is. */
	if (leg_to(tl, tl->s->total_ns, &way) && c->client_net == NEVER)
		cause_tcp(tl, &net, ours, "the answer");
}

void
path_claim(struct telling *tl)
{
	const struct story_chain *c = &tl->chain;
	const struct story_attempt *a = c->attempt;
	struct claim wasted = stage_at(TALE_CAUSE_SWITCHED, 0, NULL);
	struct claim own = stage(TALE_CAUSE_PROXY, "Tailor answered itself");

	tl->leg_begin_ns = tl->leg_end_ns = 0;
	path_in(tl);
	if (c->winner < 0) {
		leg_proxy(tl, c->finished, &own);
		path_out(tl);
		return;
	}
	path_queue(tl, a[c->winner == 1 && a[0].made ? 0 : c->winner].written);
	if (c->winner == 1 && a[0].made && leg_to(tl, a[1].written, &wasted))
		cause_pauses(tl, 0);
	path_attempt(tl, c->winner);
	path_out(tl);
}
