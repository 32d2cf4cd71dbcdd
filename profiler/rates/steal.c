#include "profiler/rates/steal.h"

#include <fcntl.h>
#include <inttypes.h>

#define BUSY_PERIOD_NS (100 * NS_PER_MS)
#define IDLE_PERIOD_NS (4 * NS_PER_S)
/* Room for the lines of STEAL_CPUS CPUs, which come before all others. */
#define TEXT_BYTES 65536

void
steal_open(struct steal *s, const char *path)
{
	long ticks_per_s = sysconf(_SC_CLK_TCK);

	*s = (struct steal){
	    .fd =
		open(path != NULL ? path : "/proc/stat", O_RDONLY | O_CLOEXEC),
	    .tick_ns = (uint64_t)NS_PER_S /
		       (uint64_t)(ticks_per_s > 0 ? ticks_per_s : 100),
	};
}

void
steal_close(struct steal *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

unsigned
steal_parse(const char *text, uint64_t ticks[STEAL_CPUS])
{
	unsigned cpu, cpus = 0;
	uint64_t stolen;

	/* user, nice, system, idle, iowait, irq, softirq, steal */
	for (; strncmp(text, "cpu", 3) == 0; text++) {
		if (text[3] != ' ' && /* the sum of all */
		    sscanf(text, "cpu%u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
			&cpu, &stolen) == 2 &&
		    cpu < STEAL_CPUS) {
			ticks[cpu] = stolen;
			cpus++;
		}
		text = strchr(text, '\n');
		if (text == NULL)
			break;
	}
	return cpus;
}

/* Read the file as far as the lines of CPUs.  False: it has none, or cannot be
 * read. */
static bool
steal_read(const struct steal *s, uint64_t ticks[STEAL_CPUS])
{
	char text[TEXT_BYTES];
	size_t n = 0;
	ssize_t got;

	do {
		got = pread(s->fd, text + n, sizeof(text) - 1 - n, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0 && n < sizeof(text) - 1);
	text[n] = '\0';
	return steal_parse(text, ticks) > 0;
}

/* Report what one CPU lost in the period that ends now. */
static void
steal_report(struct steal *s, struct command_ring *commands, unsigned cpu,
    uint64_t ticks, struct instant now)
{
	struct observer_command o = {
	    .kind = COMMAND_RATE,
	    .at = now,
	    .rate = {.signal = TALECHAIN_RATE_STEAL,
		.server = -1,
		.cpu = (int)cpu,
		.count = ticks * s->tick_ns,
		.interval_ns = instant_since(now, s->at)},
	};

	__atomic_store_n(
	    &s->total_ns, s->total_ns + o.rate.count, __ATOMIC_RELAXED);
	o.rate.base = (uint64_t)o.rate.interval_ns;
	command_push(commands, &o); /* if full, the curve has a gap */
}

int64_t
steal_turn(struct steal *s, struct command_ring *commands, bool idle,
    struct instant now)
{
	uint64_t ticks[STEAL_CPUS];
	int64_t period_ns = idle ? IDLE_PERIOD_NS : BUSY_PERIOD_NS;
	/* At rest, read early in a turn that has other work. */
	int64_t early_ns = idle ? IDLE_PERIOD_NS / 8 : 0;

	if (s->fd < 0)
		return -1;
	if (instant_since(s->due, now) > early_ns &&
	    instant_since(s->due, now) <= period_ns)
		return instant_since(s->due, now);
	s->due = instant_plus(now, period_ns);
	memcpy(ticks, s->ticks, sizeof(ticks));
	if (!steal_read(s, ticks)) {
		steal_close(s);
		return -1;
	}
	for (unsigned i = 0; s->known && i < STEAL_CPUS; i++)
		if (ticks[i] > s->ticks[i])
			steal_report(
			    s, commands, i, ticks[i] - s->ticks[i], now);
	memcpy(s->ticks, ticks, sizeof(ticks));
	s->known = true;
	s->at = now;
	return period_ns;
}
