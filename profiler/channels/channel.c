#include "profiler/channels/channel.h"

#include <fcntl.h>

#include "profiler/channels/stall.h"

/* A time stamp this far ahead of our own clock is rejected. */
#define CHANNEL_FUTURE_NS (1 * NS_PER_MS)

static int
channel_new(struct channel **out, uint32_t number, size_t bytes)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->number = number;
	c->bytes = bytes;
	c->memfd = -1;
	c->cpu = -1;
	c->taken = instant_now();
	c->server = -1;
	c->joined = -1;
	*out = c;
	return 0;
}

/* Set the cursor and the constants that every kind of channel has. */
static int
channel_ready(struct channel *c, enum talechain_kind kind, pid_t pid)
{
	c->kind = kind;
	c->pid = pid;
	return talechain_cursor_init(&c->cursor, c->memory, c->bytes);
}

/* Write the header through a temporary mapping; then map the memory read only,
 * because another process or the kernel writes it. */
static int
channel_map(struct channel *c, int fd, off_t offset, const struct handshake *h,
    pid_t pid)
{
	void *map = mmap(
	    NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (map == MAP_FAILED)
		return -errno;
	talechain_init(map, h->slot_log2, h->kind, h->name, (uint32_t)pid,
	    h->tid, c->number);
	munmap(map, c->bytes);
	map = mmap(
	    NULL, c->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, offset);
	if (map == MAP_FAILED)
		return -errno;
	c->memory = map;
	return channel_ready(c, h->kind, pid);
}

int
channel_new_inside(struct channel **out, uint32_t number,
    enum talechain_kind kind, const char *name, unsigned slot_log2)
{
	struct channel *c;
	void *map;
	int err;

	if (slot_log2 < TALECHAIN_SLOT_LOG2_MIN ||
	    slot_log2 > TALECHAIN_SLOT_LOG2_MAX)
		return -EINVAL;
	err = channel_new(&c, number, talechain_bytes(slot_log2));
	if (err < 0)
		return err;
	map = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		goto fail;
	}
	c->memory = map;
	talechain_init(c->memory, slot_log2, kind, name, (uint32_t)getpid(),
	    (uint32_t)gettid(), number);
	err = channel_ready(c, kind, getpid());
	if (err < 0)
		goto fail;
	*out = c;
	return 0;

fail:
	channel_free(&c);
	return err;
}

int
channel_new_kernel(struct channel **out, uint32_t number,
    const struct channel_place *place, const struct kernel_owners *owners)
{
	struct channel *c;
	int err = channel_new(&c, number, place->bytes);

	if (err < 0)
		return err;
	c->owners = owners;
	c->from_kernel = true;
	err = channel_map(c, place->fd, place->offset, &place->is, 0);
	if (err < 0)
		channel_free(&c);
	else
		*out = c;
	return err;
}

int
channel_new_outside(struct channel **out, uint32_t number,
    const struct handshake *hello, pid_t pid)
{
	struct channel *c;
	int err;

	err = channel_new(&c, number, talechain_bytes(hello->slot_log2));
	if (err < 0)
		return err;
	c->memfd =
	    memfd_create("tailor-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->memfd < 0 || fallocate(c->memfd, 0, 0, (off_t)c->bytes) < 0 ||
	    fcntl(c->memfd, F_ADD_SEALS,
		F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		err = -errno;
		goto fail;
	}
	err = channel_map(c, c->memfd, 0, hello, pid);
	if (err < 0)
		goto fail;
	*out = c;
	return 0;

fail:
	channel_free(&c);
	return err;
}

void
channel_free(struct channel **cp)
{
	struct channel *c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	if (c->memory != NULL)
		munmap(c->memory, c->bytes);
	if (c->memfd >= 0)
		close(c->memfd);
	free(c);
}

/* True if a kind of channel may contain this type of event. */
static bool
channel_may_emit(enum talechain_kind kind, unsigned type)
{
	switch (kind) {
	case TALECHAIN_KIND_APP:
		return type >> 12 == 2;
	case TALECHAIN_KIND_JVM:
		return type >> 12 == 3;
	case TALECHAIN_KIND_PROXY:
		return type >> 12 == 1;
	case TALECHAIN_KIND_KERNEL:
		return type >> 12 == 0 && type != 0;
	}
	return false;
}

/* Validate a copied event, and set its pid to the one that the kernel gave for
 * the writer.  False: the event is not valid. */
static bool
channel_accept(
    const struct channel *c, struct talechain_event *e, struct instant *now)
{
	if (!channel_may_emit(c->kind, e->type) || e->ts == 0)
		return false;
	/* The event may have been written after the sweep began: read the clock
	 * again. */
	if (e->ts > now->ns)
		*now = instant_now();
	if (e->ts > now->ns + (uint64_t)CHANNEL_FUTURE_NS)
		return false;
	if (!c->from_kernel)
		e->pid = (uint32_t)c->pid;
	return true;
}

/* Events that were lost after the last one that was taken. */
static struct output_gap
gap_now(const struct channel *c, enum talechain_loss why, struct instant now)
{
	return (struct output_gap){.channel = c->number,
	    .cpu = c->cpu,
	    .why = why,
	    .begin = c->taken,
	    .end = now};
}

/* Report the losses that the cursor counted since a moment. */
static void
channel_report_losses(struct channel *c, struct observer_output *o,
    struct instant since, struct instant now)
{
	uint64_t torn = c->cursor.torn - c->torn_reported;
	struct output_gap g;

	if (torn > 0)
		count_add(&o->counters.torn, torn);
	c->torn_reported = c->cursor.torn;
	if (c->cursor.abandoned == c->abandoned_reported &&
	    c->cursor.rejected == c->rejected_reported)
		return;
	g = gap_now(c, TALECHAIN_LOSS_ABANDONED, now);
	g.begin = since;
	g.events = c->cursor.abandoned - c->abandoned_reported;
	if (g.events > 0)
		output_lost(o, &g, now);
	c->abandoned_reported = c->cursor.abandoned;
	g.why = TALECHAIN_LOSS_REJECTED;
	g.events = c->cursor.rejected - c->rejected_reported;
	if (g.events > 0)
		output_lost(o, &g, now);
	c->rejected_reported = c->cursor.rejected;
}

/* Report the overwritten events, which end before a moment. */
static void
channel_report_gap(struct channel *c, struct observer_output *o,
    struct instant end, struct instant now)
{
	if (c->gap.events == 0)
		return;
	c->gap.end = end;
	output_lost(o, &c->gap, now);
	c->gap.events = 0;
}

/* Events were overwritten. */
static void
channel_overwritten(struct channel *c, struct observer_output *o, uint64_t lost,
    struct instant now)
{
	if (c->gap.events == 0)
		c->gap = gap_now(c, TALECHAIN_LOSS_OVERWRITTEN, now);
	c->gap.events += lost;
	/* The stamps of a CPU's next events show when the gap was over. */
	if (c->cpu < 0)
		channel_report_gap(c, o, now, now);
	if (c->stalls != NULL)
		stalls_lost(c->stalls);
}

/* True if an event ends a gap before it: what its CPU wrote earlier has no
 * later stamp.  IDLE and switches to the observer are written after their
 * time. */
static bool
ends_gap(const struct channel *c, const struct observer_output *o,
    const struct talechain_event *e)
{
	return c->cpu >= 0 && (e->type == TALECHAIN_WAKEUP ||
				  (e->type == TALECHAIN_SCHEDULE &&
				      (uint32_t)e->arg[0] != o->tid));
}

/* Pass a valid event on: to the detection of stalls, then to the stream. */
static void
channel_pass(struct channel *c, struct observer_output *o,
    const struct talechain_event *e, int server, struct instant now)
{
	/* Only the kernel's stamps can be trusted. */
	c->taken = c->cpu >= 0 ? (struct instant){e->ts} : now;
	if (c->stalls != NULL)
		stalls_event(c->stalls, e);
	output_event(o, e, c->number,
	    c->owners == NULL ? server : kernel_owner(c->owners, e), now);
}

unsigned
channel_drain(struct channel *c, struct observer_output *o, unsigned limit,
    struct instant now)
{
	int server = __atomic_load_n(&c->server, __ATOMIC_RELAXED);
	struct instant since = c->taken;
	struct output_gap refused;
	struct talechain_event e;
	uint64_t lost;
	unsigned n;

	for (n = 0; n < limit; n++) {
		switch (talechain_take(&c->cursor, &e, &lost, now)) {
		case TALECHAIN_TAKE_NONE:
			if (c->gap.events > 0)
				channel_report_gap(c, o, instant_now(), now);
			channel_report_losses(c, o, since, now);
			return n;
		case TALECHAIN_TAKE_LOST:
			channel_overwritten(c, o, lost, now);
			break;
		case TALECHAIN_TAKE_OK:
			if (!channel_accept(c, &e, &now)) {
				refused =
				    gap_now(c, TALECHAIN_LOSS_REJECTED, now);
				refused.events = 1;
				output_lost(o, &refused, now);
				break;
			}
			if (ends_gap(c, o, &e))
				channel_report_gap(
				    c, o, (struct instant){e.ts}, now);
			channel_pass(c, o, &e, server, now);
			break;
		}
	}
	channel_report_losses(c, o, since, now);
	return n;
}

bool
channel_drained(
    struct channel *c, struct observer_output *o, struct instant now)
{
	unsigned limit = c->end_budget < 64 ? (unsigned)c->end_budget : 64;
	unsigned n = channel_drain(c, o, limit, now);

	c->end_budget -= n;
	/* Stop at the budget even if another holder of the memfd keeps
	 * writing. */
	if (n == limit && c->end_budget > 0)
		return false;
	talechain_cursor_end(&c->cursor);
	channel_report_losses(c, o, c->taken, now);
	return true;
}
