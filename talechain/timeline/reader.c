/* reader.c: following the timeline stream.
 *
 * A reader maps the file read-only and keeps its own position, unknown to the
 * writer.  The file is hostile input: its header is judged from one copy made
 * with pread, the size of the file is checked against that copy before mapping,
 * and slots are copied before they are used (ring.h).  If the file is cut
 * later, the missing part reads as zeros (sigbus_guard.h). */
#include "talechain/timeline/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sigbus_guard.h"
#include "talechain/timeline/layout.h"
#include "talechain/timeline/ring.h"

/* A read passes at most this many torn copies before it returns
 * TIMELINE_READ_NONE. */
#define READER_TURNS 8

struct timeline_reader {
	const struct timeline_header *header; /* owned if bytes > 0 */
	const struct timeline_slot *slot;
	uint64_t next, mask;
	size_t bytes; /* of our own mapping; 0: borrowed from the writer */
	uint32_t cut; /* not 0: the file was cut */
	struct timeline_about about;
};

uint64_t
timeline_reader_head(const struct timeline_reader *r)
{
	uint64_t head = __atomic_load_n(&r->header->head, __ATOMIC_ACQUIRE);

	return head < RING_INDEX_MAX ? head : RING_INDEX_MAX;
}

uint64_t
timeline_reader_position(const struct timeline_reader *r)
{
	return r->next;
}

void
timeline_reader_about(
    const struct timeline_reader *r, struct timeline_about *out)
{
	*out = r->about;
}

uint64_t
timeline_seek(struct timeline_reader *r, uint64_t position)
{
	uint64_t head = timeline_reader_head(r), slots = r->mask + 1;
	uint64_t oldest = head > slots ? head - slots + slots / 16 : 0;

	if (position > head)
		position = head;
	if (position < oldest)
		position = oldest;
	r->next = position;
	return position;
}

/* Finish a reader from a checked header. */
static struct timeline_reader *
reader_make(const struct timeline_header *mapped,
    const struct timeline_header *checked, size_t bytes)
{
	struct timeline_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->header = mapped;
	r->slot = (const void *)((const char *)mapped + TIMELINE_HEADER_BYTES);
	r->mask = (UINT64_C(1) << checked->slot_log2) - 1;
	r->bytes = bytes;
	r->about.generation = checked->generation;
	r->about.start.ns = checked->start_ns;
	r->about.slots = r->mask + 1;
	memcpy(
	    r->about.boot_id, checked->boot_id, sizeof(r->about.boot_id) - 1);
	return r;
}

bool
timeline_reader_is_cut(const struct timeline_reader *r)
{
	return __atomic_load_n(&r->cut, __ATOMIC_ACQUIRE) != 0;
}

/* True if the slot before head is complete, or holds a later event. */
static bool
head_is_true(const struct timeline_reader *r)
{
	uint64_t head = timeline_reader_head(r);

	return head == 0 ||
	       (head < RING_INDEX_MAX &&
		   ring_seq(&r->slot[(head - 1) & r->mask]) >= 2 * head);
}

int
timeline_reader_from(struct timeline_reader **out, struct timeline *t)
{
	*out = reader_make(t->header, t->header, 0);
	if (*out == NULL)
		return -ENOMEM;
	timeline_seek(*out, 0);
	return 0;
}

/* Read and check the header.  *bytes receives the size of the whole file,
 * because hugetlbfs unmaps only whole huge pages. */
static int
header_check(int fd, struct timeline_header *h, size_t *bytes)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPROTO;
	n = pread(fd, h, sizeof(*h), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n != sizeof(*h) || h->magic != TIMELINE_MAGIC ||
	    h->version != TIMELINE_VERSION ||
	    h->slot_bytes != sizeof(struct timeline_slot) ||
	    h->header_bytes != TIMELINE_HEADER_BYTES ||
	    h->slot_log2 < TIMELINE_SLOT_LOG2_MIN ||
	    h->slot_log2 > TIMELINE_SLOT_LOG2_MAX ||
	    (uint64_t)st.st_size < timeline_bytes(h->slot_log2))
		return -EPROTO;
	*bytes = (size_t)st.st_size;
	return 0;
}

int
timeline_reader_open(struct timeline_reader **out, const char *path)
{
	struct timeline_header header = {0};
	struct timeline_reader *r;
	size_t bytes = 0;
	void *map;
	int fd, err;

	/* Non-blocking: a FIFO in that place must not hang us. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = header_check(fd, &header, &bytes);
	if (err < 0)
		goto close_file;
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		goto close_file;
	}
	r = reader_make(map, &header, bytes);
	if (r == NULL) {
		munmap(map, bytes);
		err = -ENOMEM;
		goto close_file;
	}
	err = sigbus_guard(map, bytes, &r->cut);
	if (err == 0 && !head_is_true(r))
		err = -EBADMSG;
	if (err < 0) {
		timeline_reader_close(&r);
		goto close_file;
	}
	timeline_seek(r, 0);
	*out = r;

close_file:
	close(fd);
	return err;
}

void
timeline_reader_close(struct timeline_reader **rp)
{
	struct timeline_reader *r = *rp;
	void *map;

	*rp = NULL;
	if (r == NULL)
		return;
	if (r->bytes > 0) {
		memcpy(&map, &r->header, sizeof(map)); /* drops const */
		sigbus_unguard(map);
		munmap(map, r->bytes);
	}
	free(r);
}

enum timeline_read
timeline_read(
    struct timeline_reader *r, struct timeline_slot *out, uint64_t *lost)
{
	uint64_t words[TIMELINE_WORDS], seq, next;
	const struct timeline_slot *slot;

	for (unsigned turn = 0; turn < READER_TURNS; turn++) {
		slot = &r->slot[r->next & r->mask];
		seq = ring_seq(slot);
		switch (ring_judge(seq, r->next, r->mask + 1)) {
		case RING_EMPTY:
		case RING_BUSY:
		case RING_ABSURD:
			return TIMELINE_READ_NONE;
		case RING_READY:
			if (!ring_copy(words, slot, TIMELINE_WORDS, seq))
				break;
			memcpy(out, words, sizeof(*out));
			r->next++;
			return TIMELINE_READ_OK;
		case RING_LAPPED:
			next = ring_resume(
			    seq, timeline_reader_head(r), r->mask + 1);
			*lost = next - r->next;
			r->next = next;
			return TIMELINE_READ_LOST;
		}
	}
	return TIMELINE_READ_NONE;
}
