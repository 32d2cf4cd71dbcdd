/* rates_read.c: rates from counters that need system calls.
 *
 * A server's CPU time is the sum of its threads' counters: the CPU clock of
 * another process advances in steps of some ms.  The usual value of a ratio is
 * its running median over periods in which enough happened. */
#include "profiler/rates/rates_read.h"

#include "base/log.h"
#include "base/text.h"
#include "profiler/counters/cycles.h"
#include "talechain/events/events.h"

/* Least base of a usual ratio: over less (30 us of a CPU) it is noise. */
#define BASE_LEAST 100000

/* Rates of a server: the counter of each thread, then that of the base.
 * Without a base the rate is over time. */
static const struct {
	enum talechain_rate signal;
	unsigned sources;
	const char *event[2];
} kinds[RATE_COUNTERS] = {
    {TALECHAIN_RATE_IPC, 2, {"instructions", "cycles"}},
    {TALECHAIN_RATE_CPU, 1, {"task-clock"}},
    {TALECHAIN_RATE_PAGE_FAULTS, 1, {"page-faults"}},
    {TALECHAIN_RATE_SWITCHES, 1, {"context-switches"}},
};

#define KERNEL_ASKED                                                      \
	(1U << TALECHAIN_RATE_IPC | 1U << TALECHAIN_RATE_CLOCK |          \
	    1U << TALECHAIN_RATE_CPU | 1U << TALECHAIN_RATE_PAGE_FAULTS | \
	    1U << TALECHAIN_RATE_SWITCHES)

static bool
wanted(const struct rates_reader *r, enum talechain_rate signal)
{
	return r->signals >> signal & 1;
}

/* --- opening -------------------------------------------------------------- */

static void
pair_close(struct rate_pair *p)
{
	counter_set_close(&p->set);
	*p = (struct rate_pair){0};
}

static int
pair_open(
    struct rate_pair *p, unsigned kind, const struct family *family, char *why)
{
	*p = (struct rate_pair){0};
	return counter_set_open(
	    &p->set, family, kinds[kind].event, kinds[kind].sources, why);
}

/* Open the clock of one CPU: its cycles over those at its nominal frequency.
 * Returns 0 or a negative errno. */
static int
clock_open(struct counter_set *s, int cpu, char *why)
{
	static const char *const event[] = {"msr/aperf/", "msr/mperf/"};
	int err = 0;

	s->counter = calloc(2, sizeof(*s->counter));
	if (s->counter == NULL)
		return -ENOMEM;
	s->threads = 1;
	for (s->sources = 0; s->sources < 2 && err == 0; s->sources++)
		err = counter_open(&s->counter[s->sources], event[s->sources],
		    -1, cpu, why, RATE_WHY);
	if (err < 0)
		counter_set_close(s);
	return err;
}

/* Open the clocks of the CPUs, from the first on.  Returns 0 if any is open, or
 * a negative errno. */
static int
clocks_open(struct rates_reader *r, char *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = -ENOENT;

	/* Some CPUs may be offline: they have a place, without counters. */
	for (int i = 0; i < cpus && i < RATE_CPUS; i++) {
		err = clock_open(&r->clock[i].set, i, why);
		if (err == 0)
			r->clocks = (unsigned)i + 1;
	}
	return r->clocks > 0 ? 0 : err;
}

/* Returns 0 if this machine has the counters of a kind; if not, a negative
 * errno with why. */
static int
kind_probe(unsigned kind, char *why)
{
	const struct family own = {.pid = {getpid()}, .count = 1};
	struct rate_pair p;
	int err = pair_open(&p, kind, &own, why);

	pair_close(&p);
	return err;
}

static void
say(char *text, size_t size, const char *signal, const char *why)
{
	text_append(text, size, "%s%s%s%s", *text != '\0' ? "; " : "", signal,
	    *why != '\0' ? ": " : "", why);
}

/* Switch off what this machine lacks, and log that once. */
void
rates_open(struct rates_reader *r, const struct profiler_options *options)
{
	char on[200] = "", off[600] = "", why[RATE_WHY] = "";

	memset(r, 0, sizeof(*r));
	r->signals = options->rates;
	r->servers = options->servers;
	r->period_ns = options->rates_period_ns < RATE_READ_LEAST_NS
			   ? RATE_READ_LEAST_NS
			   : options->rates_period_ns;
	for (unsigned i = 0; i < RATE_COUNTERS; i++) {
		if (!wanted(r, kinds[i].signal) || kind_probe(i, why) == 0)
			continue;
		r->signals &= ~(1U << kinds[i].signal);
		say(off, sizeof(off),
		    talechain_rate_find(kinds[i].signal)->name, why);
	}
	if (wanted(r, TALECHAIN_RATE_CLOCK) && clocks_open(r, why) < 0) {
		r->signals &= ~(1U << TALECHAIN_RATE_CLOCK);
		say(off, sizeof(off), "clock", why);
	}
	for (unsigned i = 1; i < TALECHAIN_RATE_END; i++)
		if (wanted(r, i))
			say(on, sizeof(on), talechain_rate_find(i)->name, "");
	if (options->rates != 0)
		log_event(
		    LOG_LEVEL_NOTICE, "rates", "on=\"%s\" off=\"%s\"", on, off);
	r->signals &= KERNEL_ASKED;
}

static void
server_close(struct rates_server *s)
{
	for (unsigned i = 0; i < RATE_COUNTERS; i++)
		pair_close(&s->pair[i]);
}

void
rates_close(struct rates_reader *r)
{
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		server_close(&r->server[i]);
	for (unsigned i = 0; i < RATE_CPUS; i++)
		pair_close(&r->clock[i]);
	r->clocks = 0;
	r->signals = 0;
}

void
rates_server(struct rates_reader *r, unsigned server,
    const struct family *family, unsigned searched, const char *name)
{
	struct rates_server *s = &r->server[server];
	char why[RATE_WHY] = "";

	if (r->signals == 0 || s->searched == searched)
		return;
	server_close(s);
	s->searched = searched;
	for (unsigned i = 0; i < RATE_COUNTERS && family->count > 0; i++) {
		if (!wanted(r, kinds[i].signal) ||
		    pair_open(&s->pair[i], i, family, why) == 0 ||
		    s->off_logged[kinds[i].signal])
			continue;
		s->off_logged[kinds[i].signal] = true;
		log_event(LOG_LEVEL_NOTICE, "rate_off",
		    "server=%s signal=%s why=\"%s\"", name,
		    talechain_rate_find(kinds[i].signal)->name, why);
	}
}

/* --- sampling ------------------------------------------------------------- */

static void
reader_drop(struct rates_reader *r)
{
	__atomic_store_n(&r->dropped, r->dropped + 1, __ATOMIC_RELAXED);
}

static void
rate_command(struct rates_reader *r, struct command_ring *commands,
    const struct rate *rate, struct instant at)
{
	struct observer_command o = {
	    .kind = COMMAND_RATE, .at = at, .rate = *rate};

	if (!command_push(commands, &o))
		reader_drop(r);
}

/* The usual ratio before this rate, in thousandths; then add this one. */
static uint64_t
pair_usual(struct rate_pair *p, const struct rate *rate)
{
	uint64_t usual = running_median_value(&p->usual);

	if (p->set.sources == 2 && rate->base >= BASE_LEAST)
		running_median_add(&p->usual,
		    (uint64_t)((double)rate->count * 1000 / (double)rate->base +
			       0.5));
	return usual;
}

/* Sample a pair, and send the rate since the last sample unless it is
 * distorted. */
static void
pair_turn(struct rates_reader *r, struct rate_pair *p, struct rate *rate,
    struct command_ring *commands)
{
	struct dte_clock clock, before = p->clock;
	struct instant at = instant_now(), since = p->at;
	uint64_t sum[2] = {0};
	bool known = p->known;

	if (p->set.threads == 0)
		return;
	clock.begin = cycles_in_order();
	p->known =
	    counter_set_sum(&p->set, 0, &sum[0]) &&
	    (p->set.sources == 1 || counter_set_sum(&p->set, 1, &sum[1]));
	clock.end = cycles_in_order();
	rate->count = sum[0] - p->last[0];
	rate->base = p->set.sources == 2 ? sum[1] - p->last[1]
					 : (uint64_t)instant_since(at, since);
	rate->interval_ns = instant_since(at, since);
	/* A scaled counter may decrease a little: then there is no rate. */
	known &= p->known && sum[0] >= p->last[0] && sum[1] >= p->last[1];
	p->clock = clock;
	p->at = at;
	p->last[0] = sum[0];
	p->last[1] = sum[1];
	if (!known || rate->interval_ns <= 0)
		return;
	if (!dte_keep(before, clock, DTE_MARGIN_PPM)) {
		reader_drop(r);
		return;
	}
	if (rate->base == 0)
		return; /* nothing ran: no ratio */
	rate->usual_milli = pair_usual(p, rate);
	rate_command(r, commands, rate, at);
}

int64_t
rates_turn(
    struct rates_reader *r, struct command_ring *commands, struct instant now)
{
	struct rate rate;

	if (r->signals == 0)
		return -1;
	if (instant_before(now, r->due))
		return instant_since(r->due, now);
	r->due = instant_plus(now, r->period_ns);
	for (unsigned i = 0; i < r->servers; i++) {
		for (unsigned k = 0; k < RATE_COUNTERS; k++) {
			rate = (struct rate){.signal = kinds[k].signal,
			    .server = (int)i,
			    .cpu = -1};
			pair_turn(r, &r->server[i].pair[k], &rate, commands);
		}
	}
	for (unsigned i = 0; i < r->clocks; i++) {
		rate = (struct rate){.signal = TALECHAIN_RATE_CLOCK,
		    .server = -1,
		    .cpu = (int)i};
		pair_turn(r, &r->clock[i], &rate, commands);
	}
	return r->period_ns;
}
