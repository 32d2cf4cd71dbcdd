/* stack.c: where threads waited and computed, by the functions of their
 * stacks, in words. */
#include "talechain/words/say.h"

#include "base/array.h"

#define FRAMES_TEXT 6 /* in a sentence */
#define TOPS 64	      /* functions that are counted */
#define TOPS_TEXT 4   /* in a sentence */

bool
say_stack(const struct explainer *ex, size_t segment, const struct phrase *l)
{
	char name[STORY_FRAME], safe[STORY_FRAME];
	const char *between = "stack: ";
	unsigned frames[2] = {0}; /* the program's, the kernel's */
	bool kernel = false, was_kernel = false;

	for (unsigned n = 0; story_frame(ex->s, segment, n, name, &kernel);
	     n++) {
		/* The kernel's names may be hidden. */
		if ((kernel && strcmp(name, "?") == 0) ||
		    frames[kernel]++ >= FRAMES_TEXT)
			continue;
		if (was_kernel && !kernel)
			between = "; called from ";
		phrase_add(
		    l, "%s%s", between, text_safe(safe, sizeof(safe), name));
		between = " < ";
		was_kernel = kernel;
	}
	return frames[0] + frames[1] > 0;
}

/* A function and how many samples found it innermost. */
struct sampled {
	char name[STORY_FRAME];
	unsigned count;
};

static int
top_compare(const void *va, const void *vb)
{
	const struct sampled *a = va, *b = vb;

	return COMPARE(b->count, a->count) ?: strcmp(a->name, b->name);
}

static void
top_add(struct sampled *top, size_t *tops, const char *name)
{
	size_t i = 0;

	while (i < *tops && strcmp(top[i].name, name) != 0)
		i++;
	if (i == TOPS)
		return;
	if (i == *tops)
		snprintf(top[(*tops)++].name, STORY_FRAME, "%s", name);
	top[i].count++;
}

/* True if the segment at a moment has the cause and thread of a claim. */
static bool
is_in(const struct explainer *ex, const struct claim *c, int64_t ns)
{
	const struct story *s = ex->s;
	const struct claim *k;

	for (size_t i = 0; i < s->segments; i++) {
		k = &ex->segment_claim[i];
		if (ns >= s->segment[i].begin_ns && ns < s->segment[i].end_ns)
			return k->cause == c->cause && k->tid == c->tid;
	}
	return false;
}

bool
say_samples(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	struct sampled *top = calloc(TOPS, sizeof(*top));
	char name[STORY_FRAME];
	unsigned samples = 0;
	size_t tops = 0;

	for (size_t i = 0; top != NULL && i < ex->t->entries; i++) {
		if (!stack_sample(ex, i, c->tid, name) ||
		    !is_in(ex, c, moment_at(ex->t, ex->t->entry[i].at)))
			continue;
		top_add(top, &tops, name);
		samples++;
	}
	if (samples > 0) {
		qsort(top, tops, sizeof(*top), top_compare);
		phrase_add(l, "%u sample%s of its stack: ", samples,
		    samples == 1 ? "" : "s");
	}
	for (size_t i = 0; i < tops && i < TOPS_TEXT; i++)
		phrase_add(l, "%s%u in %s", i > 0 ? ", " : "", top[i].count,
		    text_safe(name, sizeof(name), top[i].name));
	free(top);
	return samples > 0;
}

void
say_collector(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	unsigned samples = 0, in = 0;
	const char *of = NULL, *found;
	char name[STORY_FRAME];

	for (size_t i = 0; i < ex->t->entries; i++) {
		if (!stack_sample(ex, i, c->tid, name) ||
		    !is_in(ex, c, moment_at(ex->t, ex->t->entry[i].at)))
			continue;
		samples++;
		found = stack_collector(ex, i, c->tid);
		if (of == NULL)
			of = found;
		in += found != NULL && strcmp(found, of) == 0;
	}
	if (in > samples / 2)
		phrase_add(l,
		    ", mostly in %s collector (%u of %u samples of its "
		    "stack)",
		    of, in, samples);
}
