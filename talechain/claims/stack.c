/* stack.c: the stacks of the threads that had the request, in names.
 *
 * The stack of a wait comes right after the switch that ends the wait; stacks
 * of computing come at the timer's interrupts.  Names were added at the tale's
 * end when it was sliced (talechain/symbols/).  An address without a name is
 * "?". */

#include "base/array.h"
#include "talechain/claims/explainer.h"

#define NEAR_MAX 1000	   /* events searched after a wait */
#define PIECE ((size_t)24) /* bytes of a name in an event */

static enum talechain_stack
kind_of(const struct talechain_event *v)
{
	return (enum talechain_stack)(v->arg[0] >> 60);
}

static bool
is_stack_of(const struct talechain_event *v, uint32_t tid)
{
	return v->type == TALECHAIN_STACK && tale_low(v->arg[0]) == tid;
}

size_t
stack_after(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	size_t i = entry_from(ex->t, ns), end = i + NEAR_MAX;
	const struct talechain_event *v;

	for (; i < end && i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		if (is_stack_of(v, tid) && kind_of(v) != TALECHAIN_STACK_RAN)
			return i + 1;
		if (v->type == TALECHAIN_SCHEDULE && v->tid == tid)
			break;
	}
	return 0;
}

/* The name of an address; "?" if it has none. */
static void
name_of(
    const struct tale *t, uint32_t pid, uint64_t address, char out[STORY_FRAME])
{
	const struct talechain_event *v;
	unsigned piece;

	memset(out, 0, STORY_FRAME);
	for (size_t i = t->entries; i > 0; i--) {
		v = &t->entry[i - 1].slot.event;
		piece = (unsigned)(v->arg[0] >> 57);
		if (v->type != TALECHAIN_SYMBOL)
			break;
		if (v->pid != pid || v->arg[0] << 7 != address << 7 ||
		    (piece + 1) * PIECE >= STORY_FRAME)
			continue;
		memcpy(out + piece * PIECE, &v->arg[1], PIECE);
		if (piece == 0)
			break;
	}
	if (out[0] == '\0')
		snprintf(out, STORY_FRAME, "?");
}

/* The name of the n-th frame of the stack that begins at entry i - 1.  False:
 * the stack has fewer frames. */
static bool
frame_of(const struct tale *t, size_t i, unsigned n, char out[STORY_FRAME],
    bool *kernel)
{
	const struct talechain_event *v;
	uint64_t of;

	if (i == 0)
		return false;
	of = t->entry[i - 1].slot.event.arg[0] << 10 >> 10;
	/* The kernel's frames are the innermost, and their events come
	 * later. */
	for (unsigned kind = TALECHAIN_STACK_KERNEL;
	     kind >= TALECHAIN_STACK_WAITED; kind--)
		for (size_t k = i - 1; k < t->entries && k < i + NEAR_MAX;
		     k++) {
			v = &t->entry[k].slot.event;
			if (v->type == TALECHAIN_SCHEDULE &&
			    v->tid == tale_low(of))
				break;
			if (v->type != TALECHAIN_STACK ||
			    v->arg[0] << 10 >> 10 != of || kind_of(v) != kind)
				continue;
			for (unsigned a = 1; a < 4; a++) {
				if (v->arg[a] == 0 || n-- > 0)
					continue;
				*kernel = kind == TALECHAIN_STACK_KERNEL;
				name_of(t,
				    *kernel ? 0
					    : (uint32_t)tale_field(of, 32, 22),
				    v->arg[a], out);
				return true;
			}
		}
	return false;
}

bool
story_frame(const struct story *s, size_t segment, unsigned n,
    char out[STORY_FRAME], bool *kernel)
{
	return frame_of(s->tale, s->segment[segment].stack, n, out, kernel);
}

int
stack_find(const struct explainer *ex, uint32_t tid, int64_t ns, bool of_kernel,
    const char *const part[], int parts, bool *known)
{
	size_t i = stack_after(ex, tid, ns);
	char name[STORY_FRAME];
	bool kernel;

	*known = false;
	for (unsigned n = 0; frame_of(ex->t, i, n, name, &kernel); n++) {
		if (kernel != of_kernel || strcmp(name, "?") == 0)
			continue;
		*known = true;
		for (int k = 0; k < parts; k++)
			if (strstr(name, part[k]) != NULL)
				return k;
	}
	return -1;
}

bool
stack_sample(const struct explainer *ex, size_t entry, uint32_t tid,
    char out[STORY_FRAME])
{
	const struct talechain_event *v = &ex->t->entry[entry].slot.event;

	/* The first event of a stack has its innermost frame. */
	if (!is_stack_of(v, tid) || kind_of(v) != TALECHAIN_STACK_RAN ||
	    tale_field(v->arg[0], 54, 6) != 0)
		return false;
	name_of(ex->t, (uint32_t)tale_field(v->arg[0], 32, 22), v->arg[1], out);
	return true;
}

/* Functions of collectors that work in a program's own threads. */
static const struct {
	const char *begins, *of;
} collectors[] = {
    {"gc_marks", "Ruby's"},
    {"gc_mark_ptr", "Ruby's"},
    {"gc_mark_children", "Ruby's"},
    {"gc_mark_stacked_objects", "Ruby's"},
    {"gc_mark_and_pin", "Ruby's"},
    {"gc_sweep_", "Ruby's"},
    {"gc_start", "Ruby's"},
    {"rb_gc_", "Ruby's"},
    {"runtime.gc", "Go's"},
    {"runtime.scanobject", "Go's"},
    {"runtime.greyobject", "Go's"},
    {"gc_collect_main", "CPython's"},
    {"deduce_unreachable", "CPython's"},
    {"visit_decref", "CPython's"},
    {"visit_reachable", "CPython's"},
    {"zend_gc_", "PHP's"},
    {"gc_mark_grey", "PHP's"},
    {"gc_scan", "PHP's"},
    {"gc_collect_white", "PHP's"},
    {"v8::internal::MarkCompactCollector::", "V8's"},
    {"v8::internal::Scavenge", "V8's"},
};

const char *
stack_collector(const struct explainer *ex, size_t entry, uint32_t tid)
{
	const struct talechain_event *v = &ex->t->entry[entry].slot.event;
	char name[STORY_FRAME];

	if (!stack_sample(ex, entry, tid, name))
		return NULL;
	for (unsigned a = 1; a < 4 && v->arg[a] != 0; a++) {
		name_of(ex->t, (uint32_t)tale_field(v->arg[0], 32, 22),
		    v->arg[a], name);
		for (size_t i = 0; i < COUNT(collectors); i++)
			if (strncmp(name, collectors[i].begins,
				strlen(collectors[i].begins)) == 0)
				return collectors[i].of;
	}
	return NULL;
}
