/* generated.c: names of the code that a runtime makes, from the map that it
 * writes for profilers: /tmp/perf-PID.map, lines "begin length name".
 *
 * Code is also removed, and its place used again, which no line says.
 *
 *  - CPython, Node: a line is added as code is made.  A name is sure if all
 *    lines about the address have it; else the last one is shown, in doubt.
 *  - HotSpot writes all code that it has at one moment, on demand.
 *    A name is sure if two maps have the same code there, one written before
 *    the request and one after it.  If they have different code, there is no
 *    name; if only one has any, it is in doubt.  Only the interpreter never
 *    moves.
 *
 * HotSpot holds a lock on its code while it writes, so a map is of the moment
 * that its file has as its time.  The file is the server's: not trusted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "talechain/symbols/sources.h"

#define MAP_BYTES (INT64_C(32) << 20)  /* larger maps are not read */
#define MAP_COARSE_NS (10 * NS_PER_MS) /* a file's time may be so early */

/* Code that has an address of interest. */
struct code_found {
	struct code_range range;
	bool known, several; /* lines with other names were before */
};

struct code_reading {
	enum symbols_runtime runtime;
	struct symbol *of;
	struct code_found *found; /* of each symbol */
	size_t n;
	struct code_copy *copy; /* to be filled; NULL: none */
};

void
code_maps_fini(struct code_maps *m)
{
	for (unsigned i = 0; i < CODE_PROCESSES; i++)
		for (unsigned k = 0; k < 2; k++)
			free(m->process[i].copy[k].range);
}

/* --- one line ------------------------------------------------------------- */

/* Write a Java method's name without its types, and as much of its package as
 * has room: "void org.example.A.run(int)" becomes "org.example.A.run". */
static void
java_name(char out[SYMBOL_NAME], const char *name, size_t n)
{
	const size_t room = SYMBOL_NAME - sizeof("..") - sizeof(CODE_DOUBT);
	const char *end = memchr(name, '(', n), *at = name, *dot;
	const char *dots = "";

	if (end == NULL || end == name || end[-1] == ' ')
		end = name + n; /* a stub's name */
	else if ((at = memrchr(name, ' ', (size_t)(end - name))) != NULL)
		at++;
	else
		at = name;
	while ((size_t)(end - at) > room &&
	       (dot = memchr(at, '.', (size_t)(end - at))) != NULL &&
	       memchr(dot + 1, '.', (size_t)(end - dot - 1)) != NULL) {
		at = dot + 1;
		dots = "..";
	}
	snprintf(out, SYMBOL_NAME, "%s%.*s", dots, (int)(end - at), at);
}

static void
copy_add(struct code_copy *c, const struct code_range *range)
{
	struct code_range *more;

	if (c->count == CODE_RANGES)
		return;
	more = array_reserve(
	    c->range, &c->capacity, c->count + 1, sizeof(c->range[0]));
	if (more == NULL)
		return;
	c->range = more;
	c->range[c->count++] = *range;
}

static void
line_take(struct code_reading *r, uint64_t begin, uint64_t length,
    const char *name, size_t n)
{
	struct code_range range = {
	    begin, (uint32_t)length, (uint32_t)hash_bytes(name, n)};
	struct code_found *f;

	if (r->copy != NULL)
		copy_add(r->copy, &range);
	for (size_t i = 0; i < r->n; i++) {
		if (!r->of[i].generated || r->of[i].at < begin ||
		    r->of[i].at - begin >= length)
			continue;
		f = &r->found[i];
		f->several |= f->known && f->range.hash != range.hash;
		f->known = true;
		f->range = range;
		if (r->runtime == RUNTIME_HOTSPOT)
			java_name(r->of[i].name, name, n);
		else
			snprintf(
			    r->of[i].name, SYMBOL_NAME, "%.*s", (int)n, name);
	}
}

/* Read a line of the map, whose end is terminated; what is none is ignored. */
static void
line_read(struct code_reading *r, const char *line)
{
	char *end;
	uint64_t begin = strtoull(line, &end, 16), length;
	size_t n;

	if (end == line || *end != ' ')
		return;
	length = strtoull(end, &end, 16);
	if (*end != ' ' || length == 0 || length > UINT32_MAX)
		return;
	n = strnlen(end + 1, CODE_NAME_MOST);
	if (n > 0)
		line_take(r, begin, length, end + 1, n);
}

static void
lines_read(struct code_reading *r, char *text, size_t length)
{
	char *end = text + length, *next;

	for (; text < end; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (next == NULL)
			return; /* not complete */
		*next = '\0';
		line_read(r, text);
	}
}

/* --- doubts --------------------------------------------------------------- */

static int
range_compare(const void *va, const void *vb)
{
	const struct code_range *a = va, *b = vb;

	return COMPARE(a->begin, b->begin);
}

/* The code that a map had at an address; NULL: none. */
static const struct code_range *
copy_at(const struct code_copy *c, uint64_t at)
{
	size_t n = FIRST_WHERE(i, c->count, c->range[i].begin > at);

	return n > 0 && at - c->range[n - 1].begin < c->range[n - 1].length
		   ? &c->range[n - 1]
		   : NULL;
}

static bool
same_code(const struct code_range *a, const struct code_range *b)
{
	return a->begin == b->begin && a->length == b->length &&
	       a->hash == b->hash;
}

static void
doubt(struct symbol *of)
{
	size_t n = strnlen(of->name, SYMBOL_NAME - sizeof(CODE_DOUBT));

	memcpy(of->name + n, CODE_DOUBT, sizeof(CODE_DOUBT));
}

/* Check the names in a map of a JVM's.  before: the last map from before the
 * request, or NULL; after: the map read is from after it. */
static void
java_check(
    const struct code_reading *r, const struct code_copy *before, bool after)
{
	const struct code_range *old;

	for (size_t i = 0; i < r->n; i++) {
		if (!r->found[i].known ||
		    strcmp(r->of[i].name, "Interpreter") == 0)
			continue;
		old = after && before != NULL ? copy_at(before, r->of[i].at)
					      : NULL;
		if (old == NULL)
			doubt(&r->of[i]);
		else if (!same_code(old, &r->found[i].range))
			r->of[i].name[0] = '\0';
	}
}

static struct code_process *
process_of(struct code_maps *m, const struct symbol *of)
{
	struct code_process *p;

	for (unsigned i = 0; i < CODE_PROCESSES; i++)
		if (m->process[i].pid == of->pid &&
		    m->process[i].began == of->began)
			return &m->process[i];
	p = &m->process[m->next++ % CODE_PROCESSES];
	p->pid = of->pid;
	p->began = of->began;
	for (unsigned k = 0; k < 2; k++) {
		p->copy[k].written = INSTANT_NONE;
		p->copy[k].count = 0;
	}
	return p;
}

/* Make room for a copy of a map, if it is a new one. */
static struct code_copy *
copy_begin(struct code_process *p, struct instant written)
{
	struct code_copy oldest = p->copy[1];

	if (!instant_before(p->copy[0].written, written))
		return NULL;
	p->copy[1] = p->copy[0];
	oldest.written = written;
	oldest.count = 0;
	p->copy[0] = oldest;
	return &p->copy[0];
}

void
code_maps_read(struct code_maps *m, enum symbols_runtime runtime,
    struct instant begin, struct instant end, struct instant written,
    char *text, size_t length, struct symbol *of, size_t n)
{
	struct code_reading r = {.runtime = runtime, .of = of, .n = n};
	const struct code_copy *before = NULL;
	struct code_process *p = NULL;

	r.found = calloc(n, sizeof(r.found[0]));
	if (r.found == NULL)
		return;
	if (runtime == RUNTIME_HOTSPOT) {
		p = process_of(m, of);
		r.copy = copy_begin(p, written);
	}
	lines_read(&r, text, length);
	if (r.copy != NULL && r.copy->count > 0)
		qsort(r.copy->range, r.copy->count, sizeof(r.copy->range[0]),
		    range_compare);
	for (unsigned k = 0; p != NULL && k < 2 && before == NULL; k++)
		if (p->copy[k].count > 0 &&
		    instant_before(
			instant_plus(p->copy[k].written, MAP_COARSE_NS), begin))
			before = &p->copy[k];
	if (p != NULL)
		java_check(&r, before, !instant_before(written, end));
	else
		for (size_t i = 0; i < n; i++)
			if (r.found[i].several)
				doubt(&of[i]);
	free(r.found);
}

/* --- the file ------------------------------------------------------------- */

/* Read a process's number in its own namespace, and its user; false: the
 * process is gone. */
static bool
process_read(uint32_t pid, unsigned *inside, int64_t *user)
{
	char line[256], path[32];
	bool found = false;
	unsigned uid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			*user = uid;
		if (strncmp(line, "NSpid:", 6) == 0 &&
		    sscanf(strrchr(line, '\t'), "%u", inside) == 1)
			found = true;
	}
	fclose(f);
	return found;
}

/* The moment at which a file was last written. */
static struct instant
written_at(const struct stat *st)
{
	int64_t wall_ns = st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
	int64_t ago_ns = instant_wall_now_ns() - wall_ns;

	return instant_plus(instant_now(), -ago_ns);
}

/* True if a map is of a process that began at ticks: not of an earlier one with
 * its number. */
static bool
is_of(struct instant written, uint64_t ticks)
{
	struct timespec boot;
	int64_t age_ns;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	age_ns = boot.tv_sec * NS_PER_S + boot.tv_nsec -
		 (int64_t)ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
	return instant_since(instant_now(), written) < age_ns;
}

/* Read all of a file that was as long; NULL: that fails. */
static char *
text_read(int fd, size_t length)
{
	char *text = malloc(length + 1);
	size_t at = 0;
	ssize_t n = 1;

	for (; text != NULL && at < length && n > 0; at += (size_t)n)
		if ((n = read(fd, text + at, length - at)) < 0)
			n = 0;
	if (text != NULL && at < length)
		memset(text + at, 0, length - at);
	return text;
}

static bool
same_time(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Read all of the map if it is of that symbol's process, and user; *written
 * receives its time, *length its bytes.  NULL: it is not; or it is to be of one
 * moment, and is just written. */
static char *
map_read(int fd, const struct symbol *of, int64_t user, bool of_moment,
    struct instant *written, size_t *length)
{
	struct stat st, later;
	char *text;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > MAP_BYTES ||
	    (st.st_uid != 0 && st.st_uid != (uid_t)user))
		return NULL;
	*written = written_at(&st);
	*length = (size_t)st.st_size;
	text = is_of(*written, of->began) ? text_read(fd, *length) : NULL;
	if (text != NULL && of_moment &&
	    (fstat(fd, &later) < 0 || !same_time(&st, &later))) {
		free(text);
		return NULL;
	}
	return text;
}

bool
code_maps_name(struct code_maps *m, enum symbols_runtime runtime,
    struct instant begin, struct instant end, struct symbol *of, size_t n)
{
	char path[64], *text = NULL;
	struct instant written = INSTANT_NONE;
	unsigned inside = 0;
	int64_t user = -1;
	bool any = false;
	size_t length = 0;
	int fd;

	for (size_t i = 0; i < n; i++)
		any |= of[i].generated;
	if ((!any && runtime == RUNTIME_UNKNOWN) ||
	    !process_read(of->pid, &inside, &user))
		return false;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", inside);
	fd = process_file(of->pid, path, MAP_BYTES, false);
	if (fd < 0)
		return false;
	if (lseek(fd, 0, SEEK_END) <= 0) {
		close(fd);
		return false;
	}
	lseek(fd, 0, SEEK_SET);
	if (any)
		text = map_read(fd, of, user, runtime == RUNTIME_HOTSPOT,
		    &written, &length);
	close(fd);
	if (text != NULL)
		code_maps_read(
		    m, runtime, begin, end, written, text, length, of, n);
	free(text);
	return true;
}
