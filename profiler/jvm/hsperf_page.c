/* hsperf_page.c: read a mapped performance page. */
#include "profiler/jvm/hsperf_page.h"

#include "profiler/jvm/cause.h"

#define HEAP_PERIOD_NS (2 * NS_PER_MS)
/* If ticks stand still this long, the JVM does not sample: by default it does
 * so every 50 ms. */
#define HEAP_SAMPLED_NS (5 * NS_PER_S)
/* Of the smallest region of G1. */
#define REGION_BYTES (UINT64_C(1) << 20)
/* From this version on the page says at what size of eden G1 collects. */
#define EDEN_EXACT_JAVA 25

static uint64_t
page_number(const struct hsperf_page *p, enum hsperf_counter c)
{
	const void *at = p->map + p->layout.offset[c];

	return p->layout.offset[c] == 0
		   ? 0
		   : __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* Eight bytes of a text at any offset, from the two aligned words that hold
 * them.  The words lie within the mapping's whole pages.  Each is read once, so
 * that a comparison and a copy use the same bytes. */
static uint64_t
page_word(const struct hsperf_page *p, size_t offset)
{
	const void *at = p->map + offset / 8 * 8;
	const uint64_t *word = at;
	unsigned shift = (unsigned)(offset % 8) * 8;
	uint64_t low = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (shift == 0)
		return low;
	/* Little endian: the parser refuses pages of another byte order. */
	return low >> shift | __atomic_load_n(word + 1, __ATOMIC_ACQUIRE)
				  << (64 - shift);
}

/* Copy a text, terminated; out has CAUSE_BYTES. */
static void
page_text(const struct hsperf_page *p, enum hsperf_counter c, char *out)
{
	size_t length = p->layout.length[c];
	uint64_t word;

	memset(out, 0, CAUSE_BYTES);
	if (p->layout.offset[c] == 0)
		return;
	if (length > CAUSE_BYTES - 1)
		length = CAUSE_BYTES - 1;
	for (size_t i = 0; i < length; i += 8) {
		word = page_word(p, p->layout.offset[c] + i);
		memcpy(out + i, &word, length - i < 8 ? length - i : 8);
	}
}

static enum talechain_cause
page_cause(const struct hsperf_page *p, enum hsperf_counter c)
{
	char text[CAUSE_BYTES];

	page_text(p, c, text);
	return cause_parse(text, collector_concurrent(p->kind));
}

/* The first bytes of "No GC" and its end, as page_word reads them. */
#define WORD_NO_GC UINT64_C(0x0000004347206f4e)
#define WORD_NO_GC_MASK UINT64_C(0x0000ffffffffffff)

static bool
word_is_none(uint64_t word)
{
	return (word & WORD_NO_GC_MASK) == WORD_NO_GC || word == 0;
}

/* True if the cause changed.  Compares sixteen bytes, to distinguish
 * "Allocation Rate" and "Allocation Stall". */
static bool
page_cause_moved(const struct hsperf_page *p)
{
	uint32_t at = p->layout.offset[HSPERF_CAUSE];

	return at != 0 && (page_word(p, at) != p->cause_word[0] ||
			      page_word(p, at + 8) != p->cause_word[1]);
}

/* True if a counter that begins or ends a pause changed. */
static bool
page_moved(const struct hsperf_page *p)
{
	const struct pause_sample *last = &p->pause.last;

	return page_number(p, HSPERF_SAFEPOINTS) != last->safepoints ||
	       page_number(p, HSPERF_SAFEPOINT_TICKS) !=
		   last->safepoint_ticks ||
	       page_cause_moved(p);
}

/* Read everything once; the caller checks that it is consistent. */
static void
page_read(struct hsperf_page *p, struct pause_sample *s)
{
	uint32_t at = p->layout.offset[HSPERF_CAUSE];
	uint64_t word[2];
	bool moved;

	s->safepoints = page_number(p, HSPERF_SAFEPOINTS);
	s->safepoint_ticks = page_number(p, HSPERF_SAFEPOINT_TICKS);
	for (unsigned i = 0; i < HSPERF_COLLECTORS; i++) {
		if (p->layout.offset[HSPERF_OF_COLLECTOR(i, COUNT)] == 0)
			continue;
		s->collector[i].count =
		    page_number(p, HSPERF_OF_COLLECTOR(i, COUNT));
		s->collector[i].entry =
		    page_number(p, HSPERF_OF_COLLECTOR(i, ENTRY));
		s->collector[i].exit =
		    page_number(p, HSPERF_OF_COLLECTOR(i, EXIT));
	}
	if (at == 0)
		return;
	word[0] = page_word(p, at);
	word[1] = page_word(p, at + 8);
	moved = memcmp(word, p->cause_word, sizeof(word)) != 0;
	memcpy(p->cause_word, word, sizeof(word));
	s->in_cause = !word_is_none(word[0]);
	/* The text may be half-written: unknown causes are read again by each
	 * sweep until the JVM has finished writing. */
	if (s->in_cause && (moved || p->cause == TALECHAIN_CAUSE_OTHER))
		p->cause = page_cause(p, HSPERF_CAUSE);
	s->cause = p->cause;
}

bool
hsperf_page_sweep(
    struct hsperf_page *p, struct instant now, struct pause_edges *out)
{
	struct instant before = p->swept;
	struct pause_sample s;
	unsigned turn;

	p->swept = now;
	if (pause_idle(&p->pause) && p->layout.offset[HSPERF_SAFEPOINTS] != 0 &&
	    !page_moved(p))
		return false;
	/* Safepoints are read first and last: equal values mean that all the
	 * rest belongs to the same safepoint. */
	for (turn = 0; turn < 4; turn++) {
		memset(&s, 0, sizeof(s));
		s.has_safepoints =
		    p->layout.offset[HSPERF_SAFEPOINTS] != 0 &&
		    p->layout.offset[HSPERF_SAFEPOINT_TICKS] != 0;
		s.collectors = HSPERF_COLLECTORS;
		page_read(p, &s);
		if (page_number(p, HSPERF_SAFEPOINTS) == s.safepoints)
			break;
	}
	if (hsperf_page_is_dead(p))
		return false;
	s.last_cause = page_cause(p, HSPERF_LAST_CAUSE);
	pause_step(&p->pause, &s, instant_is_set(before) ? before : now,
	    instant_now(), out);
	return out->count > 0;
}

static void
word_store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* Quarters of eden in use, 0 .. 3.  Counters may have any value: another
 * process writes them. */
static uint8_t
heap_eden(const struct hsperf_heap *h)
{
	uint64_t quarter = h->word[PROFILER_HEAP_EDEN_CAPACITY] / 4;
	uint64_t used = h->word[PROFILER_HEAP_EDEN_USED];

	if (quarter == 0)
		return 0;
	used /= quarter;
	return (uint8_t)(used < 3 ? used : 3);
}

static bool
heap_is_live(struct hsperf_page *p, struct instant now)
{
	uint64_t ticks;

	if (p->kind != COLLECTOR_SERIAL && p->kind != COLLECTOR_PARALLEL)
		return true;
	ticks = p->ticks_at != 0 ? hsperf_page_count(p, p->ticks_at) : 0;
	if (p->ticks != 0 && ticks != p->ticks)
		p->sampled = now;
	p->ticks = ticks;
	return instant_is_set(p->sampled) &&
	       instant_since(now, p->sampled) < HEAP_SAMPLED_NS;
}

/* Eden's part of a heap in use of so many bytes: the other spaces, which the
 * page shows, change only at a collection. */
static uint64_t
heap_without_rest(const struct hsperf_page *p, uint64_t bytes)
{
	uint64_t rest = 0;

	for (unsigned i = 0; i < HSPERF_REST; i++)
		if (p->rest_at[i] != 0)
			rest += hsperf_page_count(p, p->rest_at[i]);
	return bytes > rest ? bytes - rest : 0;
}

/* Eden at which G1 collects.  Older JVMs show that of a young generation which
 * is larger by a twentieth, as it may be while a thread is in a critical region
 * of JNI (GCLockerEdenExpansionPercent).  With many survivors in a small young
 * generation that is twice of what eden gets. */
static uint64_t
heap_g1_eden(const struct hsperf_page *p, uint64_t capacity)
{
	uint64_t survivors, young;

	if (p->kind != COLLECTOR_G1 || p->java >= EDEN_EXACT_JAVA ||
	    p->survivors_at == 0 || capacity < REGION_BYTES)
		return capacity;
	survivors = hsperf_page_count(p, p->survivors_at);
	/* Any value may be there: another process writes it. */
	if (survivors > UINT64_MAX / 64 || capacity > UINT64_MAX / 64)
		return capacity;
	survivors -= survivors % REGION_BYTES; /* a word is added to sizes */
	young = (capacity + survivors) * 20 / 21 / REGION_BYTES * REGION_BYTES;
	return young > survivors + REGION_BYTES ? young - survivors
						: REGION_BYTES;
}

void
hsperf_page_heap(struct hsperf_page *p, struct instant now,
    uint64_t agent_bytes, struct hsperf_heap *out)
{
	const struct pause *s = &p->pause;
	uint64_t value;
	bool live;

	if (instant_since(now, p->heap_read) < HEAP_PERIOD_NS)
		return;
	p->heap_read = now;
	for (unsigned i = 0; i < PROFILER_HEAP_COUNTERS; i++) {
		if (p->heap_at[i] == 0)
			continue;
		value = hsperf_page_count(p, p->heap_at[i]);
		word_store(&out->word[i], i == PROFILER_HEAP_EDEN_CAPACITY
					      ? heap_g1_eden(p, value)
					      : value);
	}
	live = heap_is_live(p, now);
	if (!live)
		word_store(&out->word[PROFILER_HEAP_EDEN_USED],
		    heap_without_rest(p, agent_bytes));
	out->eden = heap_eden(out);
	word_store(&out->cause, s->gc ? s->gc_cause : s->last.last_cause);
	/* A mapping cut short reads as zeros. */
	word_store(&out->collector,
	    hsperf_page_is_dead(p) ||
		    p->heap_at[PROFILER_HEAP_EDEN_USED] == 0 ||
		    p->heap_at[PROFILER_HEAP_EDEN_CAPACITY] == 0 ||
		    (!live && agent_bytes == 0)
		? 0
		: (uint64_t)p->kind + 1);
}

void
hsperf_page_continue(struct hsperf_page *p, const struct hsperf_page *old)
{
	uint64_t frequency = p->pause.frequency;

	p->server = old->server;
	memcpy(p->cause_word, old->cause_word, sizeof(p->cause_word));
	p->cause = old->cause;
	p->swept = old->swept;
	p->ticks = old->ticks;
	p->sampled = old->sampled;
	/* Collectors that are new in the page start from their present
	 * values. */
	if (memcmp(p->layout.offset, old->layout.offset,
		sizeof(p->layout.offset)) != 0)
		return;
	p->pause = old->pause;
	p->pause.frequency = frequency;
}

bool
hsperf_page_polls(const struct hsperf_page *p)
{
	return p->vm.fd < 0 || !pause_idle(&p->pause) || vm_thread_runs(&p->vm);
}

bool
hsperf_page_is_stale(const struct hsperf_page *p)
{
	const void *at = p->map + 16;

	return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED) !=
	       p->layout.modified;
}
