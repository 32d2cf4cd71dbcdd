/* epochs_read.c: opening counters of a server's threads, and switching them. */
#include "profiler/rates/epochs_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#define BIT(source) (UINT32_C(1) << (source))

_Static_assert(PROFILER_COUNTER_DESCRIPTORS >= EPOCH_SOURCES * RATE_THREADS,
    "descriptors of a server's counters");

static const char *
source_event(unsigned source)
{
	return source == EPOCH_CPU_TIME ? "task-clock"
					: talechain_counter_kind(source)->event;
}

static int
server_open(const struct epochs_reader *r, struct counter_set *s,
    const struct family *family, char *why)
{
	const char *event[EPOCH_SOURCES] = {NULL};
	int err;

	for (unsigned k = 0; k < EPOCH_SOURCES; k++)
		if ((r->sources & BIT(k)) != 0)
			event[k] = source_event(k);
	err = counter_set_open(s, family, event, EPOCH_SOURCES, why);
	for (unsigned k = 0; k < EPOCH_SOURCES; k++)
		if ((r->set & BIT(k)) == 0)
			counter_set_switch(s, k, false);
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
	counter_set_close(&s->set);
	s->searched = searched;
	if (family->count == 0 || server_open(r, &s->set, family, why) == 0 ||
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
		for (unsigned k = 0; k < EPOCH_SOURCES; k++)
			if ((changed & r->sources & BIT(k)) != 0)
				counter_set_switch(&r->server[i].set, k,
				    (sources & BIT(k)) != 0);
}

static bool
source_read(void *user, unsigned server, unsigned source, uint64_t *sum)
{
	const struct epochs_reader *r = user;

	return counter_set_sum(&r->server[server].set, source, sum);
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

void
epochs_open(struct epochs_reader *r, uint32_t counters, unsigned servers,
    struct counted_epochs *out)
{
	const struct epoch_hardware hardware = {r, sources_set, source_read};
	char on[300] = "", off[300] = "", why[RATE_WHY] = "", one[RATE_WHY];
	uint32_t have = 0;
	char *list;

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
		list = (have & BIT(i)) != 0 ? on : off;
		text_append(list, sizeof(on), "%s%s", *list != '\0' ? "," : "",
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
		counter_set_close(&r->server[i].set);
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
