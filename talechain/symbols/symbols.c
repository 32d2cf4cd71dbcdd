/* symbols.c: which addresses of a tale need names, the names that are
 * remembered, and the entries made from them. */
#include "talechain/symbols/symbols.h"

#include "base/array.h"
#include "talechain/symbols/sources.h"
#include "talechain/tale/tale_struct.h"

#define REMEMBERED 4096 /* a power of two */
#define START_EDGE_NS (20 * NS_PER_MS)
#define PIECE ((size_t)24) /* bytes of a name in an event */

struct symbols {
	int kallsyms;
	struct code_maps code;
	struct symbol remembered[REMEMBERED];
};

int
symbols_new(struct symbols **out, int kallsyms)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL) {
		if (kallsyms >= 0)
			close(kallsyms);
		return -ENOMEM;
	}
	(*out)->kallsyms = kallsyms;
	return 0;
}

void
symbols_free(struct symbols **sp)
{
	if (*sp == NULL)
		return;
	if ((*sp)->kallsyms >= 0)
		close((*sp)->kallsyms);
	code_maps_fini(&(*sp)->code);
	free(*sp);
	*sp = NULL;
}

static struct symbol *
place_of(struct symbols *s, const struct symbol *of)
{
	return &s->remembered[(of->at ^ of->at >> 12 ^ of->pid) % REMEMBERED];
}

/* --- which ---------------------------------------------------------------- */

struct wanted {
	struct symbol of[SYMBOLS_TALE];
	size_t count;
};

static void
want(struct wanted *w, uint32_t pid, uint64_t address, bool innermost)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->of[i].pid == pid && w->of[i].address == address)
			return;
	if (w->count == SYMBOLS_TALE || address == 0)
		return;
	/* A caller's frame holds the address to return to, which is after the
	 * call. */
	w->of[w->count++] = (struct symbol){.pid = pid,
	    .address = address,
	    .at = innermost ? address : address - 1};
}

static void
want_stack(struct wanted *w, const struct talechain_event *e)
{
	enum talechain_stack kind = (enum talechain_stack)(e->arg[0] >> 60);
	unsigned frame = (unsigned)tale_field(e->arg[0], 54, 6);
	uint32_t pid = kind == TALECHAIN_STACK_KERNEL
			   ? 0
			   : (uint32_t)tale_field(e->arg[0], 32, 22);

	for (unsigned i = 1; i < 4; i++)
		want(w, pid, e->arg[i], frame + i == 1 && pid != 0);
}

/* --- finding -------------------------------------------------------------- */

/* When a process began, in ticks since boot; 0: it is gone. */
static uint64_t
process_began(uint32_t pid)
{
	char path[32], line[1024];
	unsigned long long ticks = 0;
	const char *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	at = strrchr(line, ')');
	if (at == NULL ||
	    sscanf(at,
		") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		"%*d %*d %*d %*d %*d %llu",
		&ticks) != 1)
		return 0;
	return ticks;
}

/* True if a process that began at ticks existed already during the request:
 * process numbers are used again. */
static bool
was_there(const struct tale *t, uint64_t ticks)
{
	struct timespec boot, now;
	int64_t began_ns = (int64_t)ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &now);
	began_ns -=
	    (boot.tv_sec - now.tv_sec) * NS_PER_S + boot.tv_nsec - now.tv_nsec;
	return ticks != 0 && began_ns - (int64_t)t->end.ns < START_EDGE_NS;
}

static int
pid_compare(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;

	return COMPARE(a->pid, b->pid);
}

/* Name n addresses of one process; only those that are not remembered are
 * searched. */
static void
find(struct symbols *s, const struct tale *t, struct symbol *of, size_t n,
    bool hurry)
{
	struct symbol unknown[SYMBOLS_TALE];
	struct symbol *from[SYMBOLS_TALE], *place;
	uint64_t began = of->pid != 0 ? process_began(of->pid) : 0;
	size_t count = 0;

	if (of->pid != 0 && !was_there(t, began))
		return;
	for (size_t i = 0; i < n; i++) {
		place = place_of(s, &of[i]);
		of[i].began = began;
		if (place->at == of[i].at && place->pid == of[i].pid &&
		    place->began == began) {
			memcpy(of[i].name, place->name, sizeof(of[i].name));
			continue;
		}
		from[count] = &of[i];
		unknown[count++] = of[i];
	}
	if (count == 0 || (of->pid == 0 && (hurry || s->kallsyms < 0)))
		return;
	if (of->pid != 0)
		code_maps_name(&s->code, symbols_of_process(unknown, count),
		    t->t0, t->end, unknown, count);
	else
		symbols_of_kernel(s->kallsyms, unknown, count);
	for (size_t i = 0; i < count; i++) {
		*from[i] = unknown[i];
		if (of->pid == 0 ||
		    (!unknown[i].generated && unknown[i].name[0] != '\0'))
			*place_of(s, &unknown[i]) = unknown[i];
	}
}

/* --- entries -------------------------------------------------------------- */

static bool
entry_add(struct tale *t, const struct symbol *of, unsigned piece)
{
	struct tale_entry *e = tale_entry_push(t);
	struct talechain_event *v;
	size_t length = strnlen(of->name, sizeof(of->name));

	if (e == NULL)
		return false;
	*e = e[-1];
	e->doubtful = false;
	e->slot.server = -1;
	v = &e->slot.event;
	*v = (struct talechain_event){.seq = v->seq,
	    .ts = e->at.ns,
	    .tid = of->pid,
	    .pid = of->pid,
	    .type = TALECHAIN_SYMBOL,
	    .version = 1,
	    .cpu = UINT32_MAX};
	v->arg[0] = (uint64_t)piece << 57 | (of->address << 7 >> 7);
	if (length > piece * PIECE)
		memcpy(&v->arg[1], of->name + piece * PIECE,
		    length - piece * PIECE < PIECE ? length - piece * PIECE
						   : PIECE);
	return true;
}

/* Name address 0, which no stack has, after the process's runtime. */
static void
runtime_name(struct symbols *s, struct tale *t, uint32_t pid)
{
	struct symbol of = {.pid = pid, .began = process_began(pid)};
	struct symbol *place = place_of(s, &of);

	if (!was_there(t, of.began))
		return;
	if (place->pid != pid || place->at != 0 || place->began != of.began) {
		symbols_of_runtime(pid, of.name);
		*place = of;
	}
	if (place->name[0] != '\0')
		entry_add(t, place, 0);
}

/* Name the runtime of each server process that the tale has threads of. */
static void
runtimes_name(struct symbols *s, struct tale *t)
{
	const struct tale_thread *thread = t->thread;
	unsigned k;

	for (unsigned i = 0; i < t->threads && t->entries > 0; i++) {
		for (k = 0; k < i && thread[k].pid != thread[i].pid; k++)
			;
		if (k == i && thread[i].attempt >= 0)
			runtime_name(s, t, thread[i].pid);
	}
}

void
symbols_name(struct symbols *s, struct tale *t, bool hurry)
{
	struct wanted w = {.count = 0};
	size_t n;

	for (size_t i = 0; i < t->entries; i++)
		if (t->entry[i].slot.event.type == TALECHAIN_STACK)
			want_stack(&w, &t->entry[i].slot.event);
	qsort(w.of, w.count, sizeof(w.of[0]), pid_compare);
	for (size_t i = 0; i < w.count; i += n) {
		for (n = 1; i + n < w.count && w.of[i + n].pid == w.of[i].pid;)
			n++;
		find(s, t, &w.of[i], n, hurry);
	}
	for (size_t i = 0; i < w.count; i++)
		for (n = 0; n * PIECE < strlen(w.of[i].name); n++)
			if (!entry_add(t, &w.of[i], (unsigned)n))
				return;
	runtimes_name(s, t);
}
