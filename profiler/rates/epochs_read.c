/* epochs_read.c: opening counters of a server's threads, and switching them. */
#include "profiler/rates/epochs_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "profiler/processes/finder.h"
#include "profiler/counters/counter.h"

#define BIT(source) (UINT32_C(1) << (source))

_Static_assert(PROFILER_COUNTER_DESCRIPTORS >= EPOCH_SOURCES * RATE_THREADS,
    "descriptors of a server's counters");

static const char *
source_event(unsigned source)
{
	return source == EPOCH_CPU_TIME ? "task-clock"
					: talechain_counter_kind(source)->event;
}

static struct counter *
counter_at(const struct epochs_server *s, unsigned thread, unsigned source)
{
	return &s->counter[thread * EPOCH_SOURCES + source];
}

static void
server_close(struct epochs_server *s)
{
	for (unsigned i = 0; i < s->threads; i++)
		for (unsigned k = 0; k < EPOCH_SOURCES; k++)
			counter_close(counter_at(s, i, k));
	free(s->counter);
	s->counter = NULL;
	s->threads = 0;
}

/* All sources of a thread, those of the present set on. */
static int
thread_open(const struct epochs_reader *r, struct epochs_server *s,
    unsigned thread, pid_t tid, char *why)
{
	int err = 0;

	for (unsigned k = 0; k < EPOCH_SOURCES; k++)
		*counter_at(s, thread, k) = (struct counter){.fd = -1};
	for (unsigned k = 0; k < EPOCH_SOURCES && err == 0; k++) {
		if ((r->sources & BIT(k)) == 0)
			continue;
		err = counter_open_family(counter_at(s, thread, k),
		    source_event(k), tid, why, RATE_WHY);
		if (err == 0 && (r->set & BIT(k)) == 0)
			counter_switch(counter_at(s, thread, k), false);
	}
	return err;
}

static int
server_open(const struct epochs_reader *r, struct epochs_server *s,
    const struct family *family, char *why)
{
	pid_t tid[RATE_THREADS] = {0};
	int err = 0, n = rates_threads(family, tid, why);

	if (n < 0)
		return n;
	s->counter = calloc((size_t)n * EPOCH_SOURCES, sizeof(*s->counter));
	if (s->counter == NULL) {
		snprintf(why, RATE_WHY, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (int i = 0; i < n && err == 0; i++) {
		err = thread_open(r, s, s->threads, tid[i], why);
		s->threads++;
		if (err != -ESRCH)
			continue;
		/* It has ended, which is no failure. */
		for (unsigned k = 0; k < EPOCH_SOURCES; k++)
			counter_close(counter_at(s, s->threads - 1, k));
		s->threads--;
		err = 0;
	}
	if (err < 0)
		server_close(s);
	return err;
}

void
epochs_server(struct epochs_reader *r, unsigned server,
    const struct family *family, unsigned searched, const char *name)
{
	struct epochs_server *s = &r->server[server];
	char why[RATE_WHY] = "";

	if (r->sources == 0 || s->searched == searched)
		return;
	server_close(s);
	s->searched = searched;
	if (family->count == 0 || server_open(r, s, family, why) == 0 ||
	    s->off_logged)
		return;
	s->off_logged = true;
	log_event(LOG_LEVEL_NOTICE, "counters_off", "server=%s why=\"%s\"",
	    name, why);
}

/* --- the hardware of epochs.h --------------------------------------------- */

static void
sources_set(void *user, uint32_t sources)
{
	struct epochs_reader *r = user;
	uint32_t changed = r->set ^ sources;

	r->set = sources;
	for (unsigned i = 0; i < r->servers; i++)
		for (unsigned t = 0; t < r->server[i].threads; t++)
			for (unsigned k = 0; k < EPOCH_SOURCES; k++)
				if ((changed & r->sources & BIT(k)) != 0)
					counter_switch(
					    counter_at(&r->server[i], t, k),
					    (sources & BIT(k)) != 0);
}

static bool
source_read(void *user, unsigned server, unsigned source, uint64_t *sum)
{
	const struct epochs_reader *r = user;
	const struct epochs_server *s = &r->server[server];
	uint64_t value;

	*sum = 0;
	for (unsigned t = 0; t < s->threads; t++) {
		if (!counter_read(counter_at(s, t, source), &value))
			return false;
		*sum += value;
	}
	return s->threads > 0;
}

/* True if this machine counts the source; else why gets the reason. */
static bool
source_probe(unsigned source, char *why)
{
	struct counter c;
	int err = counter_open_family(
	    &c, source_event(source), (pid_t)getpid(), why, RATE_WHY);

	if (err == 0)
		counter_close(&c);
	return err == 0;
}

static void
say(char *text, size_t size, const char *code)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n > 0 ? "," : "", code);
}

void
epochs_open(struct epochs_reader *r, uint32_t counters, unsigned servers,
    struct counted_epochs *out)
{
	const struct epoch_hardware hardware = {r, sources_set, source_read};
	char on[300] = "", off[300] = "", why[RATE_WHY] = "", one[RATE_WHY];
	uint32_t have = 0;

	memset(r, 0, sizeof(*r));
	r->servers = servers;
	if (counters == 0 || out == NULL)
		return;
	for (unsigned i = 0; i < EPOCH_SOURCES; i++) {
		if (source_probe(i, one))
			have |= BIT(i);
		else if (*why == '\0' && i < TALECHAIN_COUNTER_COUNT &&
			 (counters & BIT(i)) != 0)
			memcpy(why, one, sizeof(why));
	}
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		unsigned base =
		    talechain_counter_kind(i)->per == TALECHAIN_PER_CPU_SECOND
			? EPOCH_CPU_TIME
			: TALECHAIN_COUNTER_INSTRUCTIONS;

		if ((counters & BIT(i)) == 0)
			continue;
		if ((have & BIT(base)) == 0)
			have &= ~BIT(i);
		say((have & BIT(i)) != 0 ? on : off, sizeof(on),
		    talechain_counter_kind(i)->code);
	}
	epochs_init(&r->epochs, counters & have, &hardware, out);
	r->sources = (counters & have) | r->epochs.always;
	log_event(LOG_LEVEL_NOTICE, "counters",
	    "on=\"%s\" off=\"%s\" sets=%u why=\"%s\"", on, off,
	    epochs_sets(&r->epochs), why);
}

void
epochs_close(struct epochs_reader *r)
{
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		server_close(&r->server[i]);
	r->sources = 0;
}

int64_t
epochs_reader_turn(struct epochs_reader *r, struct instant now)
{
	unsigned generation[PROFILER_SERVERS];

	if (r->sources == 0)
		return -1;
	for (unsigned i = 0; i < r->servers; i++)
		generation[i] = r->server[i].searched;
	return epochs_turn(&r->epochs, r->servers, generation, now);
}
