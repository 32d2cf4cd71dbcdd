/*
 * plot.c: see plot.h.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/plot.h"

#include <stdio.h>
#include <string.h>

#include "talechain/render/render.h"

#define KERNEL_CHANNEL 9
#define SLACK (5000 * US)

void
plot_init(struct plot *p)
{
	*p = (struct plot){
	    .written = 50,
	    .net_in = 55,
	    .wait = 10,
	    .taken = 75,
	    .sent = 10000,
	    .left = 9997,
	    .back = 10005,
	    .sender = A_TID,
	};
	scene_open(&p->scene, 14);
}

void
plot_fini(struct plot *p)
{
	story_free(&p->story);
	tale_free(&p->tale);
	scene_close(&p->scene);
}

void
plot_kernel(struct plot *p, int64_t us, uint32_t tid, uint32_t pid,
    enum talechain_type type, const uint64_t arg[4])
{
	struct talechain_event e = {
	    .seq = 2,
	    .ts = scene_at(us * US).ns,
	    .tid = tid,
	    .pid = pid,
	    .type = (uint16_t)type,
	    .version = 1,
	    .cpu = 1,
	};

	if (p->dark && type != TALECHAIN_EPOCH_SUM &&
	    type != TALECHAIN_EPOCH_REST)
		return;
	memcpy(e.arg, arg, sizeof(e.arg));
	timeline_append(p->scene.timeline, &e, KERNEL_CHANNEL,
	    pid == A_PID ? 0 : -1, scene_at(us * US + 500));
}

void
plot_leaves(struct plot *p, int64_t us, uint32_t tid, enum talechain_off off,
    uint32_t next)
{
	KERNEL(p, us, tid, A_PID, TALECHAIN_SCHEDULE, PACK(next, next), 0, 0,
	    (uint64_t)off << 56);
}

void
plot_enters(
    struct plot *p, int64_t us, uint32_t tid, int64_t wait_us, uint32_t before)
{
	KERNEL(p, us, before, before, TALECHAIN_SCHEDULE, PACK(A_PID, tid), 0,
	    0, (uint64_t)(wait_us * US));
}

void
plot_wakes(struct plot *p, int64_t us, uint32_t from, uint32_t to)
{
	KERNEL(p, us, from, A_PID, TALECHAIN_WAKEUP, to, A_PID, 0);
}

void
plot_woken(struct plot *p, int64_t us, uint32_t to,
    enum talechain_context context, unsigned vector)
{
	KERNEL(p, us, 0, 0, TALECHAIN_WAKEUP, to, A_PID, PACK(context, vector));
}

void
plot_named(struct plot *p, uint32_t tid, uint32_t pid, const char *name)
{
	uint64_t text[2] = {0};

	memcpy(text, name, strlen(name));
	KERNEL(
	    p, -2900, tid, pid, TALECHAIN_THREAD, tid, pid, text[0], text[1]);
}

/* From the client to Tailor. */
static void
plot_in(struct plot *p)
{
	const uint64_t ports = PORTS(8080, 40000);

	int64_t at = p->unread ? 0 : p->rest;

	if (at > 0) {
		KERNEL(p, -5000, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 71,
		    PACK(900, 100), 0, ports);
		KERNEL(p, 10, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 71,
		    PACK(1900, 100), 0, ports);
	}
	KERNEL(p, at, 0, 0, TALECHAIN_TCP_RECV, 71, PACK(1000, 1),
	    PACK(100, 500), ports);
	KERNEL(p, at + 2, 0, 0, TALECHAIN_SOFTIRQ, 3, 4 * US);
	KERNEL(p, at + 15, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 71,
	    PACK(1000, 100), 0, ports);
	if (p->unread)
		return;
	SCENE(&p->scene, (at + 30) * US, -1, TALECHAIN_PROXY_RECEIVE, SCENE_ID,
	    p->in_flight != 0 ? p->in_flight : 1, 71);
	if (p->unserved)
		return;
	KERNEL(p, p->written - 2, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 81,
	    PACK(5000, 120), 0, PORTS(50000, 9000));
	SCENE(&p->scene, (p->written + p->stamped) * US, -1,
	    TALECHAIN_PROXY_ATTEMPT, SCENE_ID, 0, 0, 81);
}

/* At the server. */
static void
plot_server(struct plot *p)
{
	const uint64_t ports = PORTS(9000, 50000);
	uint32_t pid = p->forked ? WORKER_PID : A_PID;

	if (p->unserved)
		return;
	if (!p->deferred)
		KERNEL(p, p->net_in, 0, 0, TALECHAIN_TCP_RECV, 91,
		    PACK(5000, 1), PACK(120, 500), ports);
	if (!p->awake && !p->forked) {
		KERNEL(p, p->net_in + 1, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
		    PACK(TALECHAIN_CONTEXT_SOFTIRQ, 3));
		plot_enters(
		    p, p->net_in + 1 + p->wait, A_TID, p->wait, p->before);
	}
	KERNEL(p, p->taken, A_TID, pid, TALECHAIN_SOCK_RECV, 91,
	    PACK(5000, 120), 0, ports);
	KERNEL(p, p->left, p->sender, pid, TALECHAIN_TCP_XMIT, 91,
	    PACK(8000, 1), PACK(600, 500), ports);
	KERNEL(p, p->sent, p->sender, pid, TALECHAIN_SOCK_SEND, 91,
	    PACK(8000, 600), PACK(p->unsent, p->held), ports);
	if (!p->forked && p->closed == 0)
		plot_leaves(
		    p, p->sent + 2, p->sender, TALECHAIN_OFF_SLEEPING, 0);
}

/* When Tailor had all of the response. */
static int64_t
complete(const struct plot *p)
{
	return p->closed > 0 ? p->closed + 15 : p->back + 15;
}

/* The response had no length. */
static void
plot_close(struct plot *p)
{
	if (p->closer != 0)
		KERNEL(p, p->closed, p->closer, A_PID, TALECHAIN_TCP_XMIT, 91,
		    PACK(8600, 121), PACK(0, 500), PORTS(9000, 50000) | 0x11);
	if (!p->fin_unseen)
		KERNEL(p, p->closed + 5, 0, 0, TALECHAIN_TCP_RECV, 81,
		    PACK(8600, 121), PACK(0, 500), PORTS(50000, 9000) | 0x11);
	SCENE(&p->scene, complete(p) * US, -1, TALECHAIN_PROXY_ATTEMPT_END,
	    SCENE_ID, 0, 0, TALECHAIN_OUTCOME_CLOSED);
	if (p->undelimited)
		return;
	KERNEL(p, complete(p) + 10, PROXY_TID, 99, TALECHAIN_TCP_XMIT, 71,
	    PACK(2600, 1), PACK(5, 500), PORTS(8080, 40000));
	KERNEL(p, complete(p) + 11, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 71,
	    PACK(2600, 5), 0, PORTS(8080, 40000));
}

/* And back to the client. */
static void
plot_out(struct plot *p)
{
	const uint64_t ports = PORTS(8080, 40000);
	int64_t at = p->back;

	if (!p->unserved && !p->back_unseen) {
		KERNEL(p, at, 0, 0, TALECHAIN_TCP_RECV, 81, PACK(8000, 1),
		    PACK(600, 500), PORTS(50000, 9000));
		KERNEL(p, at + 10, PROXY_TID, 99, TALECHAIN_SOCK_RECV, 81,
		    PACK(8000, 600), 0, PORTS(50000, 9000));
	}
	SCENE(&p->scene, (at + 20) * US, -1, TALECHAIN_PROXY_COMMIT, SCENE_ID);
	KERNEL(p, at + 30, PROXY_TID, 99, TALECHAIN_TCP_XMIT, 71, PACK(2000, 1),
	    PACK(600, 500), ports);
	KERNEL(p, at + 31, PROXY_TID, 99, TALECHAIN_SOCK_SEND, 71,
	    PACK(2000, 600), 0, ports);
	if (p->closed > 0)
		plot_close(p);
	SCENE(&p->scene, (complete(p) + 25 + p->away) * US, -1,
	    TALECHAIN_PROXY_FINISH, SCENE_ID);
}

struct story *
plot_explain(struct plot *p)
{
	story_free(&p->story);
	assert_int_equal(tale_explain(&p->story, p->tale), 0);
	return p->story;
}

struct story *
plot_tell(struct plot *p)
{
	struct tale_request *r = &p->request;

	plot_named(p, HOG, HOG, "stress-ng");
	plot_in(p);
	if (!p->unread) {
		plot_server(p);
		plot_out(p);
	}
	scene_request(r);
	r->received = scene_at((p->rest + 30) * US);
	r->first_byte = scene_at(20 * US);
	r->committed = scene_at((p->back + 20) * US);
	r->finished = scene_at((complete(p) + 25 + p->away) * US);
	r->cookie = 71;
	r->attempt[0] = (struct tale_attempt){
	    .server = 0,
	    .server_pid = A_PID,
	    .cookie = 81,
	    .server_name = "A",
	    .trigger = "first",
	    .outcome = "won",
	    .written = scene_at((p->written + p->stamped) * US),
	    .first_byte = scene_at((p->back + 12) * US),
	    .complete = scene_at(complete(p) * US),
	    .status = 200,
	};
	if (p->unserved) {
		r->attempt[0] = (struct tale_attempt){.server = -1};
		r->status = 503;
	}
	if (p->flags != NULL)
		snprintf(r->flags, sizeof(r->flags), "%s", p->flags);
	r->stream_end = timeline_position(p->scene.timeline);
	assert_int_equal(
	    tale_slice(&p->tale, p->scene.reader, r, &p->client, SLACK), 0);
	return plot_explain(p);
}
