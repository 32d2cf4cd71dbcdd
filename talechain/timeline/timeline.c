/* timeline.c: the writer's end of the timeline stream.
 *
 * One file of shared memory, one writer, slots with sequence numbers
 * (ring.h).  The file is prepared under another name and linked into place,
 * so a reader sees either a whole stream or the one before.  Its writer keeps
 * it locked: a file without a lock was left by a writer that is gone, and is
 * replaced; a locked file stays.  The lock is a write lock (F_OFD_SETLK), which
 * needs a descriptor open for writing: no other user can hold it.  If another
 * user has put a file at path, or prevents our lock, the stream keeps the name
 * that it was prepared under.  Memory is allocated and mapped once; appending
 * is a dozen stores.  Nothing survives a reboot. */
#include "talechain/timeline/timeline.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/vfs.h>

#include "base/file.h"
#include "talechain/timeline/layout.h"
#include "talechain/timeline/ring.h"

#define PLACE_TRIES 8 /* tries, if several start at once */

static uint64_t
generation_make(void)
{
	/* Wall time differs for each stream, also across boots. */
	return (uint64_t)instant_wall_now_ns();
}

/* Give fd its final size.  On tmpfs this also allocates the memory, so that a
 * full file system is an error here and no SIGBUS later.  hugetlbfs needs whole
 * huge pages: *bytes is rounded up. */
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
	file_read_line(
	    h->boot_id, sizeof(h->boot_id), "/proc/sys/kernel/random/boot_id");
	h->pid = (uint32_t)getpid();
	t->header = h;
	t->slot =
	    (struct timeline_slot *)(void *)((char *)h + TIMELINE_HEADER_BYTES);
	t->mask = (UINT64_C(1) << slot_log2) - 1;
	return 0;
}

/* An anonymous stream: it has no name and cannot shrink. */
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

/* True if path still names the file of fd. */
static bool
is_file(const char *path, int fd)
{
	struct stat at, of;

	return lstat(path, &at) == 0 && fstat(fd, &of) == 0 &&
	       at.st_dev == of.st_dev && at.st_ino == of.st_ino;
}

/* Lock the whole file.  0; -EBUSY: a writer holds a lock; -EPERM: only readers
 * hold one; or another negative errno. */
static int
stream_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return -errno;
	lock.l_type = F_RDLCK; /* excluded only by a writer's lock */
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type == F_WRLCK ? -EBUSY : -EPERM;
}

/* Open the file at path if it is a plain file of ours.  -EPERM: it is another
 * user's. */
static int
stream_open(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EPERM;
}

/* Remove a file that a writer that is gone left at path.  0: path may be free
 * now; -EBUSY: its writer lives; -EPERM: it is not ours; or another negative
 * errno. */
static int
stream_clear(const char *path)
{
	int fd, err = 0;

	fd = stream_open(path);
	if (fd == -ENOENT)
		return 0;
	if (fd == -ELOOP) /* a link: it is no stream */
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	if (fd < 0)
		return fd;
	err = stream_lock(fd);
	/* Two processes may find the file at the same time: the second then has
	 * the lock of a file that the first has removed already. */
	if (err == 0 && is_file(path, fd) && unlink(path) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Link the finished stream to its path, for which other processes may
 * compete. */
static int
stream_place(const char *draft, const char *path)
{
	int err = 0;

	for (int i = 0; i < PLACE_TRIES && err == 0; i++) {
		if (link(draft, path) == 0)
			return 0;
		err = errno == EEXIST ? stream_clear(path) : -errno;
	}
	return err < 0 ? err : -EBUSY;
}

/* A stream in a file: made beside path, then linked to it. */
static int
stream_file(struct timeline *t, unsigned slot_log2)
{
	uint64_t number; /* random: no other user can take the name */
	char *draft;
	int err;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	if (asprintf(&draft, "%s.%016" PRIx64, t->path, number) < 0)
		return -ENOMEM;
	t->fd = open(
	    draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (t->fd < 0) {
		err = -errno;
		goto free_draft;
	}
	err = stream_lock(t->fd);
	if (err == 0)
		err = stream_size_set(t->fd, &t->bytes);
	if (err == 0)
		err = stream_map(t, t->fd, slot_log2);
	if (err < 0)
		goto unlink_draft;
	if (fchmod(t->fd, 0640) < 0) {
		err = -errno;
		goto unlink_draft;
	}
	err = stream_place(draft, t->path);
	if (err == -EPERM) {
		free(t->path);
		t->path = draft;
		return 0;
	}

unlink_draft:
	unlink(draft);
free_draft:
	free(draft);
	return err;
}

pid_t
timeline_owner(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct timeline_header h = {0};
	ssize_t n = fd >= 0 ? pread(fd, &h, sizeof(h), 0) : -1;

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof(h) && h.magic == TIMELINE_MAGIC
		   ? (pid_t)h.pid
		   : 0;
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
	t->fd = -1;
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
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
free_timeline:
	free(t);
	return err;
}

void
timeline_free(struct timeline **tp)
{
	struct timeline *t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	/* Another stream may be there if ours was removed. */
	if (t->path != NULL && is_file(t->path, t->fd))
		unlink(t->path);
	munmap(t->header, t->bytes);
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
	free(t);
}

const char *
timeline_path(const struct timeline *t)
{
	return t->path;
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
