/* fake_page.c: see the header. */
#include "fake_page.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void
put32(struct fake_page *f, uint32_t at, uint32_t v)
{
	memcpy(f->map + at, &v, sizeof(v));
}

static void
fake_count(struct fake_page *f)
{
	uint64_t modified;

	put32(f, 28, f->entries);
	put32(f, 8, f->used);
	memcpy(&modified, f->map + 16, sizeof(modified));
	modified++;
	memcpy(f->map + 16, &modified, sizeof(modified));
}

void
fake_init(struct fake_page *f, const char *path)
{
	static const unsigned char prologue[8] = {
	    0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};

	memset(f, 0, sizeof(*f));
	f->fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL, 0600)
			     : memfd_create("fake", 0);
	assert(f->fd >= 0);
	assert(ftruncate(f->fd, FAKE_BYTES) == 0);
	f->map = mmap(
	    NULL, FAKE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert(f->map != MAP_FAILED);
	memcpy(f->map, prologue, sizeof(prologue));
	f->used = HSPERF_PROLOGUE_BYTES;
	put32(f, 24, f->used);
	fake_count(f);
}

void
fake_fini(struct fake_page *f)
{
	munmap(f->map, FAKE_BYTES);
	close(f->fd);
}

/* An entry whose value starts at a multiple of align, of size bytes. */
static uint32_t
fake_entry(struct fake_page *f, const char *name, unsigned char type,
    uint32_t align, uint32_t size)
{
	uint32_t start = f->used, names = (uint32_t)strlen(name) + 1;
	uint32_t data =
	    (start + HSPERF_ENTRY_BYTES + names + align - 1) / align * align;
	uint32_t end = (data + size + 7) / 8 * 8;

	assert(end <= FAKE_BYTES);
	put32(f, start, end - start);
	put32(f, start + 4, HSPERF_ENTRY_BYTES);
	put32(f, start + 8, type == 'J' ? 0 : size);
	f->map[start + 12] = type;
	put32(f, start + 16, data - start);
	memcpy(f->map + start + HSPERF_ENTRY_BYTES, name, names);
	f->used = end;
	f->entries++;
	fake_count(f);
	return data;
}

/* Remember where a counter of ours lies. */
static void
fake_note(struct fake_page *f, const char *name, uint32_t at)
{
	static const char *const names[HSPERF_COUNTER_COUNT] = {
#define HSPERF_X(symbol, type, text) text,
	    HSPERF_COUNTERS(HSPERF_X)
#undef HSPERF_X
	};
	unsigned i;

	for (i = 0; i < HSPERF_COUNTER_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			f->at[i] = at;
}

uint32_t
fake_add_long(struct fake_page *f, const char *name, uint64_t value)
{
	uint32_t at = fake_entry(f, name, 'J', 8, 8);

	memcpy(f->map + at, &value, sizeof(value));
	fake_note(f, name, at);
	return at;
}

uint32_t
fake_add_text(
    struct fake_page *f, const char *name, const char *value, uint32_t room)
{
	/* As the JVM does: a text starts where the name ends. */
	uint32_t at = fake_entry(f, name, 'B', 1, room);

	memcpy(f->map + at, value, strlen(value) + 1);
	fake_note(f, name, at);
	return at;
}

static void
fake_add_collector(struct fake_page *f, int n, const char *name)
{
	static const char *const numbers[] = {
	    "invocations", "time", "lastEntryTime", "lastExitTime"};
	char counter[64];

	snprintf(counter, sizeof(counter), "sun.gc.collector.%d.name", n);
	fake_add_text(f, counter, name, (uint32_t)strlen(name) + 1);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(counter, sizeof(counter), "sun.gc.collector.%d.%s", n,
		    numbers[i]);
		fake_add_long(f, counter, 0);
	}
}

void
fake_add_jvm(struct fake_page *f, const char *collector)
{
	static const struct {
		const char *collector, *name[3];
	} known[] = {
	    {"Serial", {"Serial young collection pauses",
			   "Serial full collection pauses", NULL}},
	    {"Parallel", {"Parallel young collection pauses",
			     "Parallel full collection pauses", NULL}},
	    {"G1", {"G1 young collection pauses", "G1 full collection pauses",
		       "G1 concurrent cycle pauses"}},
	    {"ZGC", {NULL, NULL, "Z concurrent cycle pauses"}},
	    {"Shenandoah", {"Shenandoah partial", "Shenandoah full", NULL}},
	};
	unsigned i;
	int n;

	fake_add_long(f, "sun.rt.createVmBeginTime", 1234567890123);
	fake_add_long(f, "sun.rt.safepointSyncTime", 0);
	fake_add_long(f, "sun.rt.safepoints", 0);
	fake_add_long(f, "sun.rt.safepointTime", 0);
	fake_add_text(f, "sun.gc.cause", "No GC", 81);
	fake_add_text(f, "sun.gc.lastCause", "No GC", 81);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (n = 0; n < 3; n++)
			if (strcmp(known[i].collector, collector) == 0 &&
			    known[i].name[n] != NULL)
				fake_add_collector(f, n, known[i].name[n]);
	fake_add_long(f, "sun.os.hrt.frequency", 1000000000);
	fake_add_long(f, "sun.os.hrt.ticks", 1);
	fake_add_text(
	    f, "java.property.java.vm.name", "OpenJDK 64-Bit Server VM", 25);
	fake_add_text(
	    f, "java.property.java.vm.specification.version", "17", 3);
	fake_add_text(f, "java.rt.vmArgs",
	    "-XX:G1PeriodicGCInterval=5 -XX:G1PeriodicGCInterval=7000 -Xmx1g",
	    64);
	fake_add_text(f, "sun.rt.javaCommand", "Nothing", 8);
}

void
fake_set(struct fake_page *f, enum hsperf_counter c, uint64_t value)
{
	void *at = f->map + f->at[c];

	assert(f->at[c] != 0);
	__atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
}

uint64_t
fake_get(const struct fake_page *f, enum hsperf_counter c)
{
	const void *at = f->map + f->at[c];

	return *(const uint64_t *)at;
}

void
fake_set_cause(struct fake_page *f, const char *cause)
{
	size_t i, n = strlen(cause) + 1;

	/* The last cause first, and byte by byte: as slowly as it may be. */
	memcpy(f->map + f->at[HSPERF_LAST_CAUSE], f->map + f->at[HSPERF_CAUSE],
	    81);
	for (i = 0; i < n; i++)
		__atomic_store_n(f->map + f->at[HSPERF_CAUSE] + i,
		    (unsigned char)cause[i], __ATOMIC_RELEASE);
}

void
fake_safepoint_begin(struct fake_page *f)
{
	fake_set(f, HSPERF_SAFEPOINTS, fake_get(f, HSPERF_SAFEPOINTS) + 1);
}

void
fake_safepoint_end(struct fake_page *f, uint64_t ticks)
{
	fake_set(f, HSPERF_SAFEPOINT_TICKS,
	    fake_get(f, HSPERF_SAFEPOINT_TICKS) + ticks);
}

void
fake_gc_begin(
    struct fake_page *f, int collector, const char *cause, uint64_t ticks)
{
	enum hsperf_counter count = HSPERF_OF_COLLECTOR(collector, COUNT);

	if (cause != NULL)
		fake_set_cause(f, cause);
	fake_set(f, count, fake_get(f, count) + 1);
	fake_set(f, HSPERF_OF_COLLECTOR(collector, ENTRY), ticks);
}

void
fake_gc_end(struct fake_page *f, int collector, uint64_t ticks)
{
	fake_set(f, HSPERF_OF_COLLECTOR(collector, EXIT), ticks);
	if (strncmp((char *)f->map + f->at[HSPERF_CAUSE], "No GC", 6) != 0)
		fake_set_cause(f, "No GC");
}
