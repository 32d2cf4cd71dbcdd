#include "profiler/attach/sender.h"

#include <time.h>

void
sender_send(struct command_sender *s, const struct observer_command *o)
{
	struct timespec wait = {.tv_nsec = 100 * NS_PER_US};

	s->out += o->releases;
	while (!command_push(s->commands, o)) {
		observer_rest_wake(s->rest);
		if (__atomic_load_n(&s->stop, __ATOMIC_RELAXED) != 0)
			return;
		nanosleep(&wait, NULL);
	}
	if (o->kind != COMMAND_RATE) /* a rate is not urgent */
		observer_rest_wake(s->rest);
}
