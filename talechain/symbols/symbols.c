/* symbols.c: which addresses of a tale need names, the names that are
 * remembered, and the entries made from them. */
#include "talechain/symbols/symbols.h"

#include "base/array.h"
#include "base/text.h"
#include "talechain/symbols/sources.h"
#include "talechain/tale/tale_struct.h"

#define REMEMBERED 4096 /* a power of two */
#define START_EDGE_NS (20 * NS_PER_MS)
#define PIECE ((size_t)24)	/* bytes of a name in an event */
#define HIDDEN 1		/* the address that stands for removed frames */
#define WAIT_NS (5 * NS_PER_MS) /* between two looks for a map */

/* Names, the address that stands for removed frames in each process, and the
 * runtimes. */
_Static_assert(((SYMBOL_NAME - 1) / PIECE + 2) * SYMBOLS_TALE + TALE_THREADS <=
		   TALE_ENTRIES_MAX - TALE_EVENTS_MAX,
    "the largest tale has places for all names");

struct symbols {
	int kallsyms;
	struct symbols_maps maps;
	uint32_t writing; /* the process that writes a map; 0: none */
	struct code_maps code;
	struct symbol remembered[REMEMBERED];
};

int
symbols_new(struct symbols **out, int kallsyms, const struct symbols_maps *maps)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL) {
		if (kallsyms >= 0)
			close(kallsyms);
		return -ENOMEM;
	}
	(*out)->kallsyms = kallsyms;
	if (maps != NULL)
		(*out)->maps = *maps;
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

/* True if an address is in CPython's loop over a function's code. */
static bool
is_python(const char *name)
{
	return strncmp(name, "_PyEval_EvalFrame", 17) == 0 ||
	       strncmp(name, "[python3.", 9) == 0 ||
	       strncmp(name, "[libpython3.", 12) == 0;
}

/* A process whose addresses are named. */
struct process_code {
	enum symbols_runtime runtime;
	bool mapped; /* there is a map of its generated code */
};

/* Name n addresses of one process; only those that are not remembered are
 * searched.  Generated code is never remembered, nor what could have another
 * name by a map. */
static struct process_code
find(struct symbols *s, const struct tale *t, struct symbol *of, size_t n,
    bool hurry)
{
	struct symbol unknown[SYMBOLS_TALE];
	struct symbol *from[SYMBOLS_TALE], *place;
	uint64_t began = of->pid != 0 ? process_began(of->pid) : 0;
	struct process_code code = {RUNTIME_UNKNOWN, false};
	size_t count = 0;

	if (of->pid != 0 && !was_there(t, began))
		return code;
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
		return code;
	if (of->pid != 0) {
		code.runtime = symbols_of_process(unknown, count);
		code.mapped = code_maps_name(
		    &s->code, code.runtime, t->t0, t->end, unknown, count);
	} else {
		symbols_of_kernel(s->kallsyms, unknown, count);
	}
	for (size_t i = 0; i < count; i++) {
		*from[i] = unknown[i];
		if (of->pid == 0 ||
		    (!unknown[i].generated && unknown[i].name[0] != '\0' &&
			(code.runtime != RUNTIME_CPYTHON ||
			    !is_python(unknown[i].name))))
			*place_of(s, &unknown[i]) = unknown[i];
	}
	return code;
}

/* --- entries -------------------------------------------------------------- */

static bool
entry_add(struct tale *t, const struct symbol *of, unsigned piece)
{
	struct tale_entry *e =
	    t->entries < TALE_ENTRIES_MAX ? tale_entry_push(t) : NULL;
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

static bool
name_add(struct tale *t, const struct symbol *of)
{
	for (unsigned i = 0; i * PIECE < strlen(of->name); i++)
		if (!entry_add(t, of, i))
			return false;
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

/* --- generated code ------------------------------------------------------- */

/* True if a file of a process has a text within its first 128 KiB. */
static bool
has_text(uint32_t pid, const char *file, const char *text)
{
	static char bytes[128 << 10]; /* one thread */
	char path[40];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return memmem(bytes, n, text, strlen(text)) != NULL;
}

/* True if a JVM is known to keep frame pointers. */
static bool
keeps_frames(uint32_t pid)
{
	static const char flag[] = "-XX:+PreserveFramePointer";

	return has_text(pid, "cmdline", flag) || has_text(pid, "environ", flag);
}

/* True if an address is of code that is no evidence of its caller.  The
 * interpreter keeps a frame pointer. */
static bool
hides_caller(const struct symbol *of, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (of[i].address == address)
			return of[i].generated &&
			       strcmp(of[i].name, "Interpreter") != 0;
	return false;
}

/* Remove from the stack that begins with the event what is beyond the first
 * frame that hides its caller; of has n addresses of its process.  True if
 * HIDDEN is there instead. */
static bool
stack_cut(struct tale_entry *first, const struct tale_entry *end,
    const struct symbol *of, size_t n)
{
	const uint64_t stack = first->slot.event.arg[0];
	bool hidden = false, cut = false;
	struct talechain_event *v;

	for (struct tale_entry *e = first; e < end; e++) {
		v = &e->slot.event;
		/* Alike but for the number of the frame. */
		if (v->type != TALECHAIN_STACK ||
		    ((v->arg[0] ^ stack) & ~(UINT64_C(63) << 54)) != 0)
			continue;
		if (e > first && tale_field(v->arg[0], 54, 6) == 0)
			break;
		for (unsigned i = 1; i < 4; i++) {
			if (!hidden) {
				hidden = hides_caller(of, n, v->arg[i]);
				continue;
			}
			v->arg[i] = cut ? 0 : HIDDEN;
			cut = true;
		}
	}
	return cut;
}

/* Cut all stacks of a JVM that hides callers. */
static void
stacks_cut(struct tale *t, const struct symbol *of, size_t n)
{
	const struct tale_entry *end = t->entry + t->entries;
	struct symbol hidden = {.pid = of->pid,
	    .address = HIDDEN,
	    .name = "(callers: -XX:+PreserveFramePointer)"};
	const struct talechain_event *v;
	bool cut = false;

	if (keeps_frames(of->pid))
		return;
	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		if (v->type == TALECHAIN_STACK &&
		    tale_field(v->arg[0], 32, 22) == of->pid &&
		    tale_field(v->arg[0], 54, 6) == 0)
			cut |= stack_cut(&t->entry[i], end, of, n);
	}
	if (cut)
		(void)name_add(t, &hidden);
}

static bool
is_sure(const struct symbol *of)
{
	size_t n = strlen(of->name), doubt = strlen(CODE_DOUBT);

	return n > 0 &&
	       (n < doubt || strcmp(of->name + n - doubt, CODE_DOUBT) != 0);
}

/* True if names of generated code are missing or doubtful. */
static bool
any_unsure(const struct symbol *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (of[i].generated && !is_sure(&of[i]))
			return true;
	return false;
}

/* Name one address after the command that would give a name, if there is no
 * map of a process's code. */
static void
names_hint(const struct symbols *s, const struct tale *t, struct symbol *of,
    size_t n, struct process_code code)
{
	bool old =
	    code.runtime == RUNTIME_HOTSPOT && s->maps.ask != NULL &&
	    s->maps.ask(s->maps.user, (pid_t)of->pid, t->end) == -EOPNOTSUPP;

	while (n > 0 && (code.runtime == RUNTIME_CPYTHON
				? !is_python(of->name)
				: !of->generated || of->name[0] != '\0')) {
		of++;
		n--;
	}
	if (n == 0 || code.mapped)
		return;
	if (code.runtime == RUNTIME_CPYTHON)
		text_append(of->name, sizeof(of->name), " (python3 -X perf)");
	else if (code.runtime == RUNTIME_V8)
		snprintf(
		    of->name, sizeof(of->name), "? (node --perf-basic-prof)");
	else if (code.runtime == RUNTIME_HOTSPOT && old)
		snprintf(of->name, sizeof(of->name),
		    "? (Java: JDK 17 and later can name it)");
	else if (code.runtime == RUNTIME_HOTSPOT)
		snprintf(of->name, sizeof(of->name),
		    "? (jcmd %u Compiler.perfmap)", of->pid);
}

/* --- all ------------------------------------------------------------------ */

/* The addresses of a tale, in order of their processes. */
static void
wanted_collect(struct wanted *w, const struct tale *t)
{
	w->count = 0;
	for (size_t i = 0; i < t->entries; i++)
		if (t->entry[i].slot.event.type == TALECHAIN_STACK)
			want_stack(w, &t->entry[i].slot.event);
	qsort(w->of, w->count, sizeof(w->of[0]), pid_compare);
}

/* The number of addresses from i on that are of one process. */
static size_t
wanted_alike(const struct wanted *w, size_t i)
{
	size_t n = 1;

	while (i + n < w->count && w->of[i + n].pid == w->of[i].pid)
		n++;
	return n;
}

int64_t
symbols_wait(struct symbols *s, const struct tale *t)
{
	struct process_code code;
	struct wanted w;
	size_t n;

	/* Cheaper than to look for its names again. */
	if (s->writing != 0 &&
	    s->maps.ask(s->maps.user, (pid_t)s->writing, t->end) == -EAGAIN)
		return WAIT_NS;
	s->writing = 0;
	wanted_collect(&w, t);
	for (size_t i = 0; s->maps.ask != NULL && i < w.count; i += n) {
		n = wanted_alike(&w, i);
		if (w.of[i].pid == 0)
			continue;
		code = find(s, t, &w.of[i], n, true);
		if (code.runtime == RUNTIME_HOTSPOT &&
		    any_unsure(&w.of[i], n) &&
		    s->maps.ask(s->maps.user, (pid_t)w.of[i].pid, t->end) ==
			-EAGAIN) {
			s->writing = w.of[i].pid;
			return WAIT_NS;
		}
	}
	return 0;
}

void
symbols_name(struct symbols *s, struct tale *t, bool hurry)
{
	struct process_code code[SYMBOLS_TALE];
	struct wanted w;
	size_t n;

	wanted_collect(&w, t);
	for (size_t i = 0; i < w.count; i += n) {
		n = wanted_alike(&w, i);
		code[i] = find(s, t, &w.of[i], n, hurry);
	}
	for (size_t i = 0; i < w.count; i += n) {
		n = wanted_alike(&w, i);
		if (code[i].runtime == RUNTIME_HOTSPOT)
			stacks_cut(t, &w.of[i], n);
		names_hint(s, t, &w.of[i], n, code[i]);
	}
	for (size_t i = 0; i < w.count; i++)
		if (!name_add(t, &w.of[i]))
			return;
	runtimes_name(s, t);
}
