/* loop.c: the loop's parts, and its stages of work.
 *
 * The event of hazards has the higher of two priorities, so a swap is in force
 * for the other events of the same turn. */
#include "proxy/net/loop.h"

#include <errno.h>

static struct event_base *
base_new(void)
{
	struct event_config *ec = event_config_new();
	struct event_base *base;

	if (ec == NULL)
		return NULL;
	event_config_set_flag(ec, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(ec);
	event_config_free(ec);
	if (base != NULL && event_base_priority_init(base, 2) < 0) {
		event_base_free(base);
		return NULL;
	}
	return base;
}

int
loop_init(struct loop *l)
{
	for (unsigned i = 0; i < LOOP_STAGES; i++)
		TAILQ_INIT(&l->work[i]);
	block_pool_init(&l->blocks, 0);
	l->base = base_new();
	return l->base == NULL ? -ENOMEM : timers_init(&l->timers, l->base);
}

void
loop_fini(struct loop *l)
{
	if (l->base != NULL) {
		timers_fini(&l->timers);
		event_base_free(l->base);
		l->base = NULL;
	}
	block_pool_fini(&l->blocks);
}

void
loop_want(struct loop *l, struct event *e, struct timer *timer, bool *watched,
    bool want)
{
	if (*watched == want)
		return;
	*watched = false;
	if (!want) {
		event_del(e);
	} else if (event_add(e, NULL) == 0) {
		*watched = true;
	} else {
		l->events_failed++;
		timer_force(&l->timers, timer);
	}
}

void
work_init(
    struct work *w, enum loop_stage stage, void (*run)(void *user), void *user)
{
	*w = (struct work){.run = run, .user = user, .stage = stage};
}

void
loop_put_off(struct loop *l, struct work *w)
{
	if (w->waits)
		return;
	w->waits = true;
	TAILQ_INSERT_TAIL(&l->work[w->stage], w, link);
	l->writes += w->stage >= LOOP_SERVERS;
}

void
loop_drop(struct loop *l, struct work *w)
{
	if (!w->waits)
		return;
	w->waits = false;
	TAILQ_REMOVE(&l->work[w->stage], w, link);
	l->writes -= w->stage >= LOOP_SERVERS;
}

/* The next piece of work of the stages up to last, or NULL. */
static struct work *
next_work(struct loop *l, enum loop_stage last)
{
	struct work *w = NULL;

	for (unsigned i = 0; w == NULL && i <= last; i++)
		w = TAILQ_FIRST(&l->work[i]);
	return w;
}

static void
run(struct loop *l, enum loop_stage last)
{
	struct work *w;

	while ((w = next_work(l, last)) != NULL) {
		loop_drop(l, w);
		w->run(w->user);
	}
}

void
loop_event_end(struct loop *l)
{
	run(l, l->writes < LOOP_WRITES ? LOOP_INPUT : LOOP_CLIENTS);
}

int
loop_turn_begin(struct loop *l)
{
	l->turns++;
	timers_wait(&l->timers);
	return event_base_loop(l->base, EVLOOP_ONCE) < 0 ? -EIO : 0;
}

void
loop_turn_end(struct loop *l)
{
	run(l, LOOP_INPUT);
	timers_turn(&l->timers);
	run(l, LOOP_CLIENTS);
}
