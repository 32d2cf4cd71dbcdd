#include "profiler/rates/counter_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/processes/proc.h"

/* List all threads of some processes.  Returns how many, or a negative errno
 * with why. */
static int
family_threads(const struct family *f, pid_t tid[RATE_THREADS], char *why)
{
	int n = 0, more = 0;

	for (unsigned i = 0; i < f->count && more != -E2BIG; i++) {
		more = proc_threads(f->pid[i], tid + n, RATE_THREADS - n);
		if (more > 0)
			n += more;
	}
	if (more == -E2BIG) {
		snprintf(why, RATE_WHY, "it has over %d threads", RATE_THREADS);
		return more;
	}
	if (n > 0)
		return n;
	more = more < 0 ? more : -ESRCH; /* the server is ending */
	snprintf(why, RATE_WHY, "%s", strerror(-more));
	return more;
}

/* Open the counters of one more thread.  If one fails, the others stay open;
 * but a thread that has ended gets none, and that is no failure. */
static int
thread_open(
    struct counter_set *s, pid_t tid, const char *const *event, char *why)
{
	struct counter *c = &s->counter[(size_t)s->threads++ * s->sources];
	int err = 0;

	for (unsigned i = 0; i < s->sources; i++)
		c[i] = (struct counter){.fd = -1, .way = COUNTER_READ};
	for (unsigned i = 0; i < s->sources && err == 0; i++)
		if (event[i] != NULL)
			err = counter_open_family(
			    &c[i], event[i], tid, why, RATE_WHY);
	if (err != -ESRCH)
		return err;
	s->threads--;
	for (unsigned i = 0; i < s->sources; i++)
		counter_close(&c[i]);
	return 0;
}

int
counter_set_open(struct counter_set *s, const struct family *family,
    const char *const *event, unsigned sources, char *why)
{
	pid_t tid[RATE_THREADS] = {0};
	int err = 0, n = family_threads(family, tid, why);

	*s = (struct counter_set){.sources = sources};
	if (n < 0)
		return n;
	s->counter = calloc((size_t)n * sources, sizeof(*s->counter));
	if (s->counter == NULL) {
		snprintf(why, RATE_WHY, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (int i = 0; i < n && err == 0; i++)
		err = thread_open(s, tid[i], event, why);
	if (err < 0)
		counter_set_close(s);
	return err;
}

void
counter_set_close(struct counter_set *s)
{
	for (unsigned i = 0; i < s->threads * s->sources; i++)
		counter_close(&s->counter[i]);
	free(s->counter);
	*s = (struct counter_set){0};
}

bool
counter_set_sum(const struct counter_set *s, unsigned source, uint64_t *sum)
{
	uint64_t value;

	*sum = 0;
	for (unsigned t = 0; t < s->threads; t++) {
		if (!counter_read(&s->counter[t * s->sources + source], &value))
			return false;
		*sum += value;
	}
	return s->threads > 0;
}

void
counter_set_switch(const struct counter_set *s, unsigned source, bool on)
{
	for (unsigned t = 0; t < s->threads; t++)
		counter_switch(&s->counter[t * s->sources + source], on);
}
