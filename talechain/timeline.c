/*
 * timeline.c: the writer's end of the timeline stream.
 *
 * One file of shared memory, one writer, slots with sequence numbers
 * (ring.h).  The file is prepared under another name and renamed into place,
 * so a reader sees either a whole stream or the one before.  Memory is
 * allocated and mapped here once; appending is a dozen stores.
 *
 * It is not a log: nothing is kept beyond the ring, nothing survives a
 * reboot, and no reader is waited for.
 */
#include "talechain/timeline.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "talechain/ring.h"
#include "talechain/timeline_layout.h"

/* The kernel's random name of this boot, or "". */
static void
boot_id_read(char *out, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static uint64_t
generation_make(void)
{
	struct timespec t;

	/* Wall time: differs from any earlier stream's, also across boots. */
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * (uint64_t)NS_PER_S + (uint64_t)t.tv_nsec;
}

/*
 * Give fd its size for good.  On tmpfs this also takes the memory now, so
 * that a full file system is an error here and no SIGBUS later.  hugetlbfs
 * wants whole huge pages: *bytes is rounded up.
 */
static int
stream_size_set(int fd, size_t *bytes)
{
	struct statfs fs;
	size_t unit;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC &&
	    fs.f_type != HUGETLBFS_MAGIC)
		return -EMEDIUMTYPE;
	unit = (size_t)fs.f_bsize;
	*bytes = (*bytes + unit - 1) / unit * unit;
	if (ftruncate(fd, (off_t)*bytes) < 0)
		return -errno;
	if (fallocate(fd, 0, 0, (off_t)*bytes) < 0 && errno != EOPNOTSUPP)
		return -errno;
	return 0;
}

static int
stream_map(struct timeline *t, int fd, unsigned slot_log2)
{
	struct timeline_header *h;

	h = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (h == MAP_FAILED)
		return -errno;
	h->magic = TIMELINE_MAGIC;
	h->version = TIMELINE_VERSION;
	h->slot_bytes = sizeof(struct timeline_slot);
	h->header_bytes = TIMELINE_HEADER_BYTES;
	h->slot_log2 = slot_log2;
	h->generation = generation_make();
	h->start_ns = instant_now().ns;
	boot_id_read(h->boot_id, sizeof(h->boot_id));
	t->header = h;
	t->slot =
	    (struct timeline_slot *)(void *)((char *)h + TIMELINE_HEADER_BYTES);
	t->mask = (UINT64_C(1) << slot_log2) - 1;
	return 0;
}

/* An anonymous stream: nobody can find it, and nobody can shrink it. */
static int
stream_anonymous(struct timeline *t, unsigned slot_log2)
{
	int fd, err;

	fd = memfd_create("tailor-timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = stream_size_set(fd, &t->bytes);
	if (err == 0)
		err = stream_map(t, fd, slot_log2);
	if (err == 0 && fcntl(fd, F_ADD_SEALS,
			    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		err = -errno;
	close(fd); /* the mapping keeps it */
	return err;
}

/* A stream in a file: made beside path, then renamed over it. */
static int
stream_file(struct timeline *t, unsigned slot_log2)
{
	struct stat st;
	char *draft;
	int fd, err;

	if (asprintf(&draft, "%s.%ld", t->path, (long)getpid()) < 0)
		return -ENOMEM;
	unlink(draft); /* left by a process of our number that was killed */
	fd = open(
	    draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		goto free_draft;
	}
	err = stream_size_set(fd, &t->bytes);
	if (err < 0)
		goto unlink_draft;
	err = stream_map(t, fd, slot_log2);
	if (err < 0)
		goto unlink_draft;
	if (fchmod(fd, 0640) < 0 || fstat(fd, &st) < 0 ||
	    rename(draft, t->path) < 0) {
		err = -errno;
		goto unlink_draft;
	}
	t->device = st.st_dev;
	t->inode = st.st_ino;
	goto close_file;

unlink_draft:
	unlink(draft);
close_file:
	close(fd);
free_draft:
	free(draft);
	return err;
}

int
timeline_new(struct timeline **out, const char *path, unsigned slot_log2)
{
	struct timeline *t;
	int err;

	if (slot_log2 < TIMELINE_SLOT_LOG2_MIN ||
	    slot_log2 > TIMELINE_SLOT_LOG2_MAX)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->bytes = timeline_bytes(slot_log2);
	if (path != NULL) {
		t->path = strdup(path);
		if (t->path == NULL) {
			err = -ENOMEM;
			goto free_timeline;
		}
		err = stream_file(t, slot_log2);
	} else {
		err = stream_anonymous(t, slot_log2);
	}
	if (err < 0)
		goto unmap_stream;
	*out = t;
	return 0;

unmap_stream:
	if (t->header != NULL)
		munmap(t->header, t->bytes);
	free(t->path);
free_timeline:
	free(t);
	return err;
}

void
timeline_free(struct timeline **tp)
{
	struct timeline *t = *tp;
	struct stat st;

	*tp = NULL;
	if (t == NULL)
		return;
	/* A successor may already have put its own stream there. */
	if (t->path != NULL && lstat(t->path, &st) == 0 &&
	    st.st_dev == t->device && st.st_ino == t->inode)
		unlink(t->path);
	munmap(t->header, t->bytes);
	free(t->path);
	free(t);
}

uint64_t
timeline_append(struct timeline *t, const struct talechain_event *event,
    uint32_t channel, int server, struct instant read)
{
	struct timeline_slot slot = {
	    .read_ns = read.ns,
	    .channel = channel,
	    .server = server,
	    .event = *event,
	};
	uint64_t words[TIMELINE_WORDS], position = t->next;

	assert(position < RING_INDEX_MAX);
	memcpy(words, &slot, sizeof(words));
	ring_store(
	    &t->slot[position & t->mask], words, TIMELINE_WORDS, position);
	t->next = position + 1;
	__atomic_store_n(&t->header->head, t->next, __ATOMIC_RELEASE);
	return position;
}

uint64_t
timeline_position(const struct timeline *t)
{
	return __atomic_load_n(&t->header->head, __ATOMIC_ACQUIRE);
}
