/* turns.c: which threads had a CPU, one after the other, while another waited
 * for it.
 *
 * While a watched thread waits for a CPU, all switches of that CPU are
 * recorded: each turn begins with one and ends with the next.  A thread that
 * was moved to another CPU's queue, or whose events were left out, has only
 * those switches in the tale that others' waits show: what lies between two of
 * them may have been more than one thread's turn. */
#include "talechain/claims/explainer.h"

#define ANY UINT32_MAX /* no thread has that number */

void
turns_begin(const struct explainer *ex, const struct thread_interval *wait,
    struct cpu_turns *s)
{
	*s = (struct cpu_turns){
	    .wait = wait,
	    .entry = entry_from(ex->t, wait->begin_ns),
	    .at_ns = wait->begin_ns,
	    .came = wait->state == THREAD_PREEMPTED ? wait->other : ANY,
	};
}

/* Go on to the CPU's next switch within the wait, or to the wait's end.
 * Returns the switch, or NULL. */
static const struct talechain_event *
switch_next(const struct explainer *ex, struct cpu_turns *s)
{
	const struct talechain_event *v;
	int64_t at;

	for (; s->entry < ex->t->entries; s->entry++) {
		v = &ex->t->entry[s->entry].slot.event;
		at = moment_at(ex->t, ex->t->entry[s->entry].at);
		if (at > s->wait->end_ns)
			break;
		if (v->type != TALECHAIN_SCHEDULE ||
		    event_cpu(v) != s->wait->cpu || at < s->at_ns ||
		    ex->t->entry[s->entry].doubtful)
			continue;
		if (at > s->at_ns) {
			s->had = s->came;
			s->had_batch = s->came_batch;
		}
		s->came = tale_low(v->arg[0]);
		s->came_batch = (v->arg[3] & TALECHAIN_TO_BATCH) != 0;
		if (at == s->at_ns)
			continue;
		s->entry++;
		s->at_ns = at;
		return v;
	}
	s->had = s->came;
	s->had_batch = s->came_batch;
	s->at_ns = s->wait->end_ns;
	return NULL;
}

bool
turns_next(
    const struct explainer *ex, struct cpu_turns *s, struct cpu_turn *out)
{
	const struct talechain_event *v;
	bool idle = false, left_batch;

	*out = (struct cpu_turn){.begin_ns = s->at_ns};
	while (s->at_ns < s->wait->end_ns) {
		v = switch_next(ex, s);
		out->end_ns = s->at_ns;
		out->tid = s->had != ANY ? s->had
			   : v != NULL	 ? v->tid
					 : s->wait->other;
		out->last = v != NULL && v->tid != out->tid ? v->tid : 0;
		left_batch = v != NULL && (v->arg[3] & TALECHAIN_BATCH) != 0;
		out->batch = out->last != 0 ? s->had_batch && left_batch
					    : s->had_batch || left_batch;
		/* The CPU idled: the thread waited elsewhere then. */
		if (out->tid == 0) {
			idle = true;
			out->tid = out->last;
			out->last = 0;
		}
		out->unseen =
		    idle || (v != NULL && v->tid == 0) ||
		    (!s->wait->whole && !thread_is_watched(ex, out->tid));
		if (out->tid != 0)
			return true;
	}
	out->tid = s->wait->other;
	out->unseen = true;
	return idle;
}
