/* hsperf_format.h: HotSpot's performance page, from bytes to offsets.
 *
 * A page is a prologue and a list of entries, each a name and the place of its
 * value in the same page.  Values change under a reader, offsets never do; so
 * the page is parsed once, from a private copy, and afterwards only known
 * offsets are read.  The file is untrusted: every number is checked against the
 * copy's size before it is used.
 *
 * A header, because the JVM agent also reads its own page and is built from its
 * own sources alone.  Nothing here allocates or enters the kernel.
 *
 *  0      4       5      6      7           8     12        16
 *  +------+-------+------+------+-----------+-----+---------+---------------+
 *  | magic| order | major| minor| accessible| used| overflow| mod_timestamp |
 *  +------+-------+------+------+-----------+-----+---------+---------------+
 *  24             28            32
 *  | entry_offset | num_entries |  entries ...
 *
 *  0        4          8             12     13     14     15            16
 *  +--------+----------+-------------+------+------+------+-------------+----
 *  | length | name_off | vector_len  | type | flags| units| variability |data
 *  +--------+----------+-------------+------+------+------+-------------+----
 * Offsets of an entry count from the entry's own first byte.
 * Source: OpenJDK's perfMemory.hpp; version 2.0, the only one since JDK 5. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HSPERF_BYTES_MIN 64
#define HSPERF_BYTES_MAX (4u << 20)
#define HSPERF_ENTRIES_MAX 8192
#define HSPERF_PROLOGUE_BYTES 32
#define HSPERF_ENTRY_BYTES 20
#define HSPERF_COLLECTORS 4

/* The counters we read.  J: one 64-bit number, B: text. */
#define HSPERF_COUNTERS(X)                                                  \
	X(SAFEPOINTS, 'J', "sun.rt.safepoints")                             \
	X(SAFEPOINT_TICKS, 'J', "sun.rt.safepointTime")                     \
	X(FREQUENCY, 'J', "sun.os.hrt.frequency")                           \
	X(CAUSE, 'B', "sun.gc.cause")                                       \
	X(LAST_CAUSE, 'B', "sun.gc.lastCause")                              \
	X(POLICY, 'B', "sun.gc.policy.name")                                \
	X(VM_NAME, 'B', "java.property.java.vm.name")                       \
	X(JAVA_VERSION, 'B', "java.property.java.vm.specification.version") \
	X(ARGUMENTS, 'B', "java.rt.vmArgs")                                 \
	X(FLAGS, 'B', "java.rt.vmFlags")                                    \
	HSPERF_COLLECTOR(X, 0)                                              \
	HSPERF_COLLECTOR(X, 1)                                              \
	HSPERF_COLLECTOR(X, 2)                                              \
	HSPERF_COLLECTOR(X, 3)

#define HSPERF_COLLECTOR(X, n)                                                 \
	X(COLLECTOR_##n##_NAME, 'B', "sun.gc.collector." #n ".name")           \
	X(COLLECTOR_##n##_COUNT, 'J', "sun.gc.collector." #n ".invocations")   \
	X(COLLECTOR_##n##_ENTRY, 'J', "sun.gc.collector." #n ".lastEntryTime") \
	X(COLLECTOR_##n##_EXIT, 'J', "sun.gc.collector." #n ".lastExitTime")

enum hsperf_counter {
#define HSPERF_X(symbol, type, name) HSPERF_##symbol,
	HSPERF_COUNTERS(HSPERF_X)
#undef HSPERF_X
	    HSPERF_COUNTER_COUNT
};

/* Counters of one collector follow each other: name, count, entry, exit. */
#define HSPERF_OF_COLLECTOR(n, what) \
	((enum hsperf_counter)(HSPERF_COLLECTOR_0_##what + 4 * (n)))

struct hsperf_layout {
	/* Offset of each value in the page; 0: there is no such counter. */
	uint32_t offset[HSPERF_COUNTER_COUNT];
	uint32_t length[HSPERF_COUNTER_COUNT]; /* bytes of a text, else 8 */
	uint32_t entries;
	uint64_t modified; /* mod_timestamp; grows when counters are added */
};

/* The 4 bytes at p, in the byte order of the machine; p may be unaligned. */
static inline uint32_t
hsperf_u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* One counter as described by its entry. */
struct hsperf_entry {
	const char *name; /* points into the page */
	unsigned char type;
	uint32_t offset; /* offset of the value in the page */
	uint32_t room;	 /* bytes that the value may take */
};

/* Read the entry at offset at.  Returns its length; 0: it is not valid. */
static inline uint32_t
hsperf_entry_read(struct hsperf_entry *out, const unsigned char *page,
    uint32_t bytes, uint32_t at)
{
	const unsigned char *e = page + at;
	uint32_t length, name, vector, data;

	if (bytes - at < HSPERF_ENTRY_BYTES)
		return 0;
	length = hsperf_u32(e);
	name = hsperf_u32(e + 4);
	vector = hsperf_u32(e + 8);
	data = hsperf_u32(e + 16);
	if (length < HSPERF_ENTRY_BYTES || length > bytes - at ||
	    name < HSPERF_ENTRY_BYTES || name >= length || data >= length ||
	    data < HSPERF_ENTRY_BYTES || vector > length - data ||
	    memchr(e + name, '\0', length - name) == NULL)
		return 0;
	out->name = (const char *)e + name;
	out->type = e[12];
	out->offset = at + data;
	out->room = out->type == 'J' ? length - data : vector;
	return length;
}

/* Store the place of a counter if we read it and its value fits. */
static inline void
hsperf_note(struct hsperf_layout *out, const struct hsperf_entry *e)
{
	static const struct {
		const char *name;
		unsigned char type;
	} wanted[HSPERF_COUNTER_COUNT] = {
#define HSPERF_X(symbol, type, name) {name, type},
	    HSPERF_COUNTERS(HSPERF_X)
#undef HSPERF_X
	};
	unsigned i;

	for (i = 0; i < HSPERF_COUNTER_COUNT; i++)
		if (wanted[i].type == e->type &&
		    strcmp(wanted[i].name, e->name) == 0)
			break;
	if (i == HSPERF_COUNTER_COUNT || out->offset[i] != 0)
		return;
	/* A number that is not aligned could be read half-written. */
	if (e->type == 'J' &&
	    (e->offset % sizeof(uint64_t) != 0 || e->room < sizeof(uint64_t)))
		return;
	out->offset[i] = e->offset;
	out->length[i] = e->type == 'J' ? (uint32_t)sizeof(uint64_t) : e->room;
}

/* The offset of the 64-bit counter of this name in a copy of a page that
 * hsperf_parse has accepted; 0: the page has no such counter. */
static inline uint32_t
hsperf_find(const unsigned char *page, size_t bytes, const char *name)
{
	uint32_t at = hsperf_u32(page + 24), i, length;
	struct hsperf_entry e;

	for (i = 0; i < hsperf_u32(page + 28); i++, at += length) {
		length = hsperf_entry_read(&e, page, (uint32_t)bytes, at);
		if (length == 0)
			return 0;
		if (e.type == 'J' && e.room >= sizeof(uint64_t) &&
		    e.offset % sizeof(uint64_t) == 0 &&
		    strcmp(e.name, name) == 0)
			return e.offset;
	}
	return 0;
}

/* Find our counters in a copy of a page.  Returns 0; -EAGAIN the JVM has not
 * finished the page; -EPROTO it is no performance page, or of another version
 * or byte order; -EBADMSG it is damaged. */
static inline int
hsperf_parse(struct hsperf_layout *out, const unsigned char *page, size_t bytes)
{
	static const unsigned char magic[4] = {0xca, 0xfe, 0xc0, 0xc0};
	const unsigned char order =
	    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 0;
	struct hsperf_entry e;
	uint32_t at, i, length;

	memset(out, 0, sizeof(*out));
	if (bytes < HSPERF_BYTES_MIN || bytes > HSPERF_BYTES_MAX)
		return -EPROTO;
	/* The JVM makes the file first and fills it in afterwards. */
	if (hsperf_u32(page) == 0)
		return -EAGAIN;
	if (memcmp(page, magic, sizeof(magic)) != 0 || page[4] != order ||
	    page[5] != 2)
		return -EPROTO;
	if (page[7] == 0)
		return -EAGAIN;
	memcpy(&out->modified, page + 16, sizeof(out->modified));
	at = hsperf_u32(page + 24);
	out->entries = hsperf_u32(page + 28);
	if (at < HSPERF_PROLOGUE_BYTES || at > bytes ||
	    out->entries > HSPERF_ENTRIES_MAX)
		return -EBADMSG;
	for (i = 0; i < out->entries; i++) {
		length = hsperf_entry_read(&e, page, (uint32_t)bytes, at);
		if (length == 0)
			return -EBADMSG;
		hsperf_note(out, &e);
		at += length;
	}
	return 0;
}
