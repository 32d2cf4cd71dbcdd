#include "shim/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sigbus_guard.h"
#include "lanes/lanes.h"
#include "profiler/jvm/hsperf_page.h"
#include "profiler/processes/proc.h"

#define PATH_BYTES 512

void
sources_init(struct sources *s, const struct shim_target *target)
{
	memset(s, 0, sizeof(*s));
	s->target = *target;
}

void
sources_fini(struct sources *s)
{
	for (unsigned i = 0; i < s->counters; i++)
		counter_close(&s->counter[i]);
	for (unsigned i = 0; i < s->maps; i++) {
		munmap(s->map[i].at, s->map[i].bytes);
		sigbus_unguard(s->map[i].at);
	}
	hsperf_page_free(&s->page);
	lanes_close(&s->lanes);
	sources_init(s, &s->target);
}

bool
sources_are_cut(const struct sources *s)
{
	for (unsigned i = 0; i < s->maps; i++)
		if (__atomic_load_n(&s->map[i].cut, __ATOMIC_ACQUIRE) != 0)
			return true;
	return false;
}

/* The parts of a text after "word:"; name may be "". */
struct word_spec {
	char path[PATH_BYTES];
	uint64_t offset;
	char name[sizeof(((struct signal *)0)->name)];
};

static bool
word_parse(const char *text, struct word_spec *out)
{
	const char *colon = strchr(text, ':');
	char *end;
	size_t n;

	memset(out, 0, sizeof(*out));
	if (colon == NULL || colon == text)
		return false;
	n = (size_t)(colon - text);
	if (n >= sizeof(out->path))
		return false;
	memcpy(out->path, text, n);
	errno = 0;
	out->offset = strtoull(colon + 1, &end, 0);
	if (end == colon + 1 || errno != 0 || (*end != '\0' && *end != ':'))
		return false;
	snprintf(
	    out->name, sizeof(out->name), "%s", *end == ':' ? end + 1 : text);
	return true;
}

/* Map the page of a file that has the word.  NULL with a reason in why. */
static const uint64_t *
word_map(struct sources *s, const struct word_spec *w, char *why)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct source_map *m = &s->map[s->maps];
	struct stat st;
	int fd;

	if (w->offset % sizeof(uint64_t) != 0) {
		snprintf(why, SOURCE_WHY,
		    "%s: offset %llu is not a multiple of 8: half of the "
		    "word could be seen changed",
		    w->path, (unsigned long long)w->offset);
		return NULL;
	}
	fd = open(w->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		snprintf(why, SOURCE_WHY, "%s: %s", w->path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || w->offset >= (uint64_t)st.st_size ||
	    (uint64_t)st.st_size - w->offset < sizeof(uint64_t)) {
		snprintf(why, SOURCE_WHY,
		    "%s: has no 8 bytes at %llu (it is %lld bytes long)",
		    w->path, (unsigned long long)w->offset,
		    (long long)st.st_size);
		close(fd);
		return NULL;
	}
	m->bytes = page;
	m->at = mmap(NULL, page, PROT_READ, MAP_SHARED, fd,
	    (off_t)(w->offset / page * page));
	close(fd);
	if (m->at == MAP_FAILED) {
		snprintf(why, SOURCE_WHY, "%s: cannot be mapped: %s", w->path,
		    strerror(errno));
		return NULL;
	}
	s->maps++;
	if (sigbus_guard(m->at, page, &m->cut) < 0) {
		snprintf(
		    why, SOURCE_WHY, "%s: SIGBUS cannot be caught", w->path);
		return NULL;
	}
	return (const uint64_t *)(const void *)((const char *)m->at +
						w->offset % page);
}

static int
add_word(struct sources *s, const char *text, char *why)
{
	struct signal *g = &s->sampler.signal[s->sampler.signals];
	struct word_spec w;

	if (!word_parse(text, &w)) {
		snprintf(why, SOURCE_WHY,
		    "word:%s: write word:FILE:OFFSET or "
		    "word:FILE:OFFSET:NAME",
		    text);
		return -EINVAL;
	}
	g->word = word_map(s, &w, why);
	if (g->word == NULL)
		return -EINVAL;
	memcpy(g->name, w.name, sizeof(g->name));
	s->sampler.signals++;
	return 0;
}

static int
add_jvm(struct sources *s, const char *name, char *why)
{
	struct signal *g = &s->sampler.signal[s->sampler.signals];
	char sentence[PAGE_TEXT];
	uint32_t offset;
	int err;

	if (s->target.pid <= 0) {
		snprintf(why, SOURCE_WHY, "jvm:%s: needs --pid, the JVM", name);
		return -EINVAL;
	}
	if (s->page == NULL) {
		err = hsperf_page_open(&s->page, s->target.pid, sentence);
		if (err < 0) {
			snprintf(why, SOURCE_WHY, "jvm:%s: %s", name, sentence);
			return err;
		}
	}
	offset = hsperf_find(s->page->map, s->page->bytes, name);
	if (offset == 0) {
		snprintf(why, SOURCE_WHY,
		    "jvm:%s: this JVM has no such number; `jcmd %ld "
		    "PerfCounter.print` lists them",
		    name, (long)s->target.pid);
		return -ENOENT;
	}
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->word = (const uint64_t *)(const void *)(s->page->map + offset);
	s->sampler.signals++;
	return 0;
}

/* Make a signal of the next count counters, which are open. */
static void
counters_take(struct sources *s, const char *name, unsigned count)
{
	struct signal *g = &s->sampler.signal[s->sampler.signals++];

	snprintf(g->name, sizeof(g->name), "%s", name);
	g->counter = &s->counter[s->counters];
	g->counters = count;
	s->counters += count;
}

/* Open counters of all threads of a process, which also count new threads. */
static int
add_family(struct sources *s, const char *name, const pid_t *tid, int threads,
    char *why)
{
	struct counter *c = &s->counter[s->counters];
	unsigned open = 0;
	int err = 0;

	for (int i = 0; i < threads && err == 0; i++) {
		err = counter_open_family(
		    &c[open], name, tid[i], why, SOURCE_WHY);
		open += err == 0;
		if (err == -ESRCH)
			err = 0; /* the thread has ended */
	}
	if (err == 0 && open == 0)
		err = -ESRCH;
	if (err == 0) {
		counters_take(s, name, open);
		return 0;
	}
	while (open > 0)
		counter_close(&c[--open]);
	return err;
}

static int
add_process(struct sources *s, const char *name, char *why)
{
	pid_t pid = s->target.pid, tid[SOURCE_COUNTERS];
	int room = SOURCE_COUNTERS - (int)s->counters;
	int threads = proc_threads(pid, tid, room);

	if (threads == -E2BIG) {
		snprintf(why, SOURCE_WHY,
		    "%s: process %ld has more threads than can be counted at "
		    "once (%d counters in all); count a CPU, with --cpu",
		    name, (long)pid, SOURCE_COUNTERS);
		return threads;
	}
	if (threads < 1) { /* it has ended */
		tid[0] = pid;
		threads = 1;
	}
	return add_family(s, name, tid, threads, why);
}

static int
add_counter(struct sources *s, const char *name, char *why)
{
	int cpu = s->target.cpu, err;

	if (s->target.pid > 0)
		return add_process(s, name, why);
	if (s->counters == SOURCE_COUNTERS) {
		snprintf(why, SOURCE_WHY, "%s: too many counters", name);
		return -E2BIG;
	}
	err = counter_open(&s->counter[s->counters], name, cpu < 0 ? 0 : -1,
	    cpu, why, SOURCE_WHY);
	if (err == 0)
		counters_take(s, name, 1);
	return err;
}

/* Add a signal of the SMT siblings' events: those of the whole core (the
 * any-thread bit of its counters), less our own. */
static int
add_neighbour(struct sources *s, const char *name, char *why)
{
	struct signal *g = &s->sampler.signal[s->sampler.signals];
	struct counter *core = &s->counter[s->counters], *own = core + 1;
	char any[64];
	int err;

	if (s->counters + 2 > SOURCE_COUNTERS) {
		snprintf(why, SOURCE_WHY, "%s: too many counters", name);
		return -E2BIG;
	}
	if (snprintf(any, sizeof(any), "%s:t=1", name) >= (int)sizeof(any) ||
	    s->target.on < 0) {
		snprintf(why, SOURCE_WHY,
		    "neighbour:%s: needs --on, the CPU to sample from", name);
		return -EINVAL;
	}
	err = counter_open(core, any, -1, s->target.on, why, SOURCE_WHY);
	if (err < 0)
		return err;
	s->counters++;
	err = counter_open(own, name, 0, -1, why, SOURCE_WHY);
	if (err < 0)
		return err;
	s->counters++;
	snprintf(g->name, sizeof(g->name), "neighbour %s", name);
	g->counter = core;
	g->counters = 1;
	g->minus = own;
	s->sampler.signals++;
	return 0;
}

int
sources_add(struct sources *s, const char *spec, char *why)
{
	static const struct {
		const char *prefix;
		int (*add)(struct sources *s, const char *rest, char *why);
	} kind[] = {{"counter:", add_counter}, {"neighbour:", add_neighbour},
	    {"word:", add_word}, {"jvm:", add_jvm}};

	if (s->sampler.signals == SAMPLER_SIGNALS) {
		snprintf(why, SOURCE_WHY, "%s: at most %d signals at once",
		    spec, SAMPLER_SIGNALS);
		return -E2BIG;
	}
	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		if (strncmp(spec, kind[i].prefix, strlen(kind[i].prefix)) == 0)
			return kind[i].add(
			    s, spec + strlen(kind[i].prefix), why);
	snprintf(why, SOURCE_WHY,
	    "%s: a signal is counter:NAME, neighbour:NAME, "
	    "word:FILE:OFFSET or jvm:NAME",
	    spec);
	return -EINVAL;
}

int
sources_tag(struct sources *s, const char *spec, char *why)
{
	struct word_spec w;
	int err;

	if (strcmp(spec, "task") == 0) {
		if (s->target.cpu < 0 || s->target.cpu >= TALECHAIN_LANES) {
			snprintf(why, SOURCE_WHY,
			    "the tag task is what runs on a CPU: needs --cpu");
			return -EINVAL;
		}
		err = lanes_open(&s->lanes, NULL, why);
		if (err < 0)
			return err;
		s->sampler.tag = (const uint64_t *)(const void *)&lanes_words(
		    s->lanes)[s->target.cpu]
				     .running;
		return 0;
	}
	if (strncmp(spec, "word:", 5) != 0 || !word_parse(spec + 5, &w)) {
		snprintf(why, SOURCE_WHY,
		    "%s: a tag is task or word:FILE:OFFSET", spec);
		return -EINVAL;
	}
	s->sampler.tag = word_map(s, &w, why);
	return s->sampler.tag != NULL ? 0 : -EINVAL;
}

int
sources_add_default(struct sources *s, char *why)
{
	int err = sources_add(s, "counter:instructions", why);

	if (err == 0)
		err = sources_add(s, "counter:cycles", why);
	if (err != -ENOENT)
		return err;
	/* Keep the reason in why, even if the rest works. */
	return sources_add(s,
	    s->target.cpu >= 0 ? "counter:context-switches"
			       : "counter:task-clock",
	    (char[SOURCE_WHY]){""});
}
