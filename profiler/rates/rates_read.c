/* rates_read.c: rates from counters that need system calls.
 *
 * Counters belong to threads, not processes: each thread found gets one that
 * threads it starts inherit.  (A process has a CPU clock, but that of others
 * advances in steps of some ms.)  The usual value of a ratio is its running
 * median over periods in which enough happened for a ratio. */
#include "profiler/rates/rates_read.h"

#include "base/log.h"
#include "profiler/processes/finder.h"
#include "profiler/processes/proc.h"
#include "profiler/counters/counter.h"
#include "profiler/counters/cycles.h"
#include "talechain/events/events.h"

/* A ratio over less is noise: about 30 us of a CPU. */
#define BASE_LEAST 100000

/* Counters of each thread of a server; base NULL: rate over time. */
static const struct {
	enum talechain_rate signal;
	const char *count, *base;
} kinds[RATE_COUNTERS] = {
    {TALECHAIN_RATE_IPC, "instructions", "cycles"},
    {TALECHAIN_RATE_CPU, "task-clock", NULL},
    {TALECHAIN_RATE_PAGE_FAULTS, "page-faults", NULL},
    {TALECHAIN_RATE_SWITCHES, "context-switches", NULL},
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
	for (unsigned i = 0; i < p->counters; i++) {
		counter_close(&p->count[i]);
		if (p->base != NULL)
			counter_close(&p->base[i]);
	}
	free(p->count);
	free(p->base);
	*p = (struct rate_pair){0};
}

static int
pair_room(struct rate_pair *p, unsigned counters, bool based)
{
	*p = (struct rate_pair){0};
	p->count = calloc(counters, sizeof(*p->count));
	if (based)
		p->base = calloc(counters, sizeof(*p->base));
	if (p->count != NULL && (p->base != NULL || !based))
		return 0;
	pair_close(p);
	return -ENOMEM;
}

/* Open one thread's counters; a thread that has ended is no failure. */
static int
pair_thread(struct rate_pair *p, unsigned kind, pid_t tid, char *why)
{
	unsigned i = p->counters;
	int err = counter_open_family(
	    &p->count[i], kinds[kind].count, tid, why, RATE_WHY);

	if (err == 0 && p->base != NULL) {
		err = counter_open_family(
		    &p->base[i], kinds[kind].base, tid, why, RATE_WHY);
		if (err < 0)
			counter_close(&p->count[i]);
	}
	p->counters += err == 0;
	return err == -ESRCH ? 0 : err;
}

int
rates_threads(const struct family *f, pid_t tid[RATE_THREADS], char *why)
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
	more = more < 0 ? more : -ESRCH; /* it is ending */
	snprintf(why, RATE_WHY, "%s", strerror(-more));
	return more;
}

/* Counters of all threads of some processes; 0, or a negative errno with why.
 */
static int
pair_open(
    struct rate_pair *p, unsigned kind, const struct family *family, char *why)
{
	pid_t tid[RATE_THREADS] = {0};
	int i, err, n = rates_threads(family, tid, why);

	if (n < 0)
		return n;
	err = pair_room(p, (unsigned)n, kinds[kind].base != NULL);
	if (err < 0)
		snprintf(why, RATE_WHY, "%s", strerror(-err));
	for (i = 0; i < n && err == 0; i++)
		err = pair_thread(p, kind, tid[i], why);
	if (err < 0)
		pair_close(p);
	return err;
}

/* The clocks of the CPUs, from the first on; 0 or a negative errno. */
static int
clocks_open(struct rates_reader *r, char *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), i;
	struct rate_pair *p;
	int err = 0;

	for (i = 0; i < cpus && i < RATE_CPUS && err == 0; i++) {
		p = &r->clock[i];
		err = pair_room(p, 1, true);
		if (err == 0)
			err = counter_open(&p->count[0], "msr/aperf/", -1,
			    (int)i, why, RATE_WHY);
		if (err == 0) {
			err = counter_open(&p->base[0], "msr/mperf/", -1,
			    (int)i, why, RATE_WHY);
			if (err < 0)
				counter_close(&p->count[0]);
		}
		if (err == 0) {
			p->counters = 1;
			r->clocks++;
		} else {
			pair_close(p);
		}
	}
	/* Some CPUs may be offline. */
	return r->clocks > 0 ? 0 : err;
}

/* 0 if this machine has the counters of a kind; else a negative errno and
 * why. */
static int
kind_probe(unsigned kind, char *why)
{
	struct rate_pair p;
	int err = pair_room(&p, 1, kinds[kind].base != NULL);

	if (err == 0)
		err = pair_thread(&p, kind, (pid_t)getpid(), why);
	pair_close(&p);
	return err;
}

static void
say(char *text, size_t size, const char *signal, const char *why)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s%s%s", n > 0 ? "; " : "", signal,
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

/* All counters of a pair, added up.  False: one of them cannot be read. */
static bool
pair_read(struct rate_pair *p, uint64_t sum[2])
{
	uint64_t value;

	sum[0] = sum[1] = 0;
	for (unsigned i = 0; i < p->counters; i++) {
		if (!counter_read(&p->count[i], &value))
			return false;
		sum[0] += value;
		if (p->base == NULL)
			continue;
		if (!counter_read(&p->base[i], &value))
			return false;
		sum[1] += value;
	}
	return true;
}

/* The usual ratio without this one, thousandths. */
static uint64_t
pair_usual(struct rate_pair *p, const struct rate *rate)
{
	uint64_t usual = running_median_value(&p->usual);

	if (p->base != NULL && rate->base >= BASE_LEAST)
		running_median_add(&p->usual,
		    (uint64_t)((double)rate->count * 1000 / (double)rate->base +
			       0.5));
	return usual;
}

/* Sample a pair; send its rate since the last sample if not distorted. */
static void
pair_turn(struct rates_reader *r, struct rate_pair *p, struct rate *rate,
    struct command_ring *commands)
{
	struct dte_clock clock, before = p->clock;
	struct instant at = instant_now(), since = p->at;
	uint64_t sum[2];
	bool known = p->known;

	if (p->counters == 0)
		return;
	clock.begin = cycles_in_order();
	p->known = pair_read(p, sum);
	clock.end = cycles_in_order();
	rate->count = sum[0] - p->last[0];
	rate->base = p->base != NULL ? sum[1] - p->last[1]
				     : (uint64_t)instant_since(at, since);
	rate->interval_ns = instant_since(at, since);
	/* A scaled counter may decrease a little; then there is no rate. */
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
