/* access_log.c: a ring of records and the thread that writes them.
 *
 * The writer writes head, the proxy thread writes tail; each reads the other
 * with acquire.  A writer that finds the ring empty sets sleeping, checks the
 * ring again, and waits for an eventfd; the proxy thread checks sleeping after
 * each line.  Both are sequentially consistent, so that no wake-up is lost. */
#include "proxy/access_log/access_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/background.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "proxy/access_log/record.h"

#define RING_RECORDS 2048 /* lines that may wait for the disk, 3 KiB each */
#define BATCH_BYTES ((size_t)64 * 1024)
#define CLOSE_PATIENCE_NS NS_PER_S
#define LOOK_MS 50 /* period of checks for the end while a pipe is full */

struct entry {
	bool change; /* not a line: write to fd from here on */
	int fd;
	struct access_record record;
};

struct access_log {
	pthread_t writer;
	int wake_fd; /* owned */
	struct entry ring[RING_RECORDS];
	_Atomic uint64_t head, tail;
	_Atomic bool sleeping, closing;
	_Atomic uint64_t written, dropped, failed; /* independent */

	/* Writer's thread only. */
	int fd;	     /* owned, -1 none */
	bool blocks; /* a shared file, which is not set non-blocking */
	bool cut;    /* the file ends in the middle of a line */
	bool complained;
	size_t used, lines; /* in the buffer */
	struct instant give_up;
	char buffer[BATCH_BYTES + ACCESS_LINE_MAX];
};

/* --- the writer's thread -------------------------------------------------- */

/* Wait until the file takes bytes.  False: the log is being closed, and the
 * file still takes none. */
static bool
wait_writable(struct access_log *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLOUT};

	while (poll(&p, 1, LOOK_MS) <= 0) {
		if (!atomic_load(&l->closing))
			continue;
		if (!instant_is_set(l->give_up))
			l->give_up =
			    instant_plus(instant_now(), CLOSE_PATIENCE_NS);
		if (!instant_before(instant_now(), l->give_up))
			return false;
	}
	return true;
}

/* Write all bytes.  0, or a negative errno after writing *done bytes. */
static int
write_all(struct access_log *l, const char *bytes, size_t length, size_t *done)
{
	*done = 0;
	while (*done < length) {
		size_t left = length - *done;
		ssize_t n;

		if (l->blocks && !wait_writable(l))
			return -ETIMEDOUT;
		n = write(l->fd, bytes + *done,
		    l->blocks && left > PIPE_BUF ? PIPE_BUF : left);

		if (n >= 0)
			*done += (size_t)n;
		else if (errno == EAGAIN && !wait_writable(l))
			return -ETIMEDOUT;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

/* Write the lines in the buffer, after a newline if the file ends in the middle
 * of a line.  Returns as write_all. */
static int
write_lines(struct access_log *l, size_t *done)
{
	int err = l->cut ? write_all(l, "\n", 1, done) : 0;

	*done = 0;
	if (err < 0)
		return err;
	err = write_all(l, l->buffer, l->used, done);
	l->cut = *done > 0 && l->buffer[*done - 1] != '\n';
	return err;
}

/* Count the lines that end in the first bytes of the buffer. */
static size_t
lines_in(const struct access_log *l, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += l->buffer[i] == '\n';
	return n;
}

/* True if a file ends in the middle of a line, as a full disk leaves it. */
static bool
ends_cut(int fd)
{
	char path[40], last = '\n';
	struct stat st;
	int again;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return false;
	if (pread(again, &last, 1, st.st_size - 1) < 0)
		last = '\n';
	close(again);
	return last != '\n';
}

static void
flush(struct access_log *l)
{
	size_t done = l->used, whole;
	int err = l->fd >= 0 && l->used > 0 ? write_lines(l, &done) : 0;

	whole = err < 0 ? lines_in(l, done) : l->lines;
	atomic_fetch_add_explicit(&l->written, whole, memory_order_relaxed);
	if (err < 0) {
		atomic_fetch_add_explicit(
		    &l->failed, l->lines - whole, memory_order_relaxed);
		/* Log one failure, and no more until a write succeeds. */
		if (!l->complained)
			log_event(LOG_LEVEL_ERROR, "access_log_failed",
			    "error=\"%s\" advice=\"lines are lost: free disk "
			    "space, "
			    "then send SIGUSR1 to reopen the file\"",
			    strerror(-err));
	}
	l->complained = err < 0;
	l->used = l->lines = 0;
}

static void
change_file(struct access_log *l, int fd)
{
	flush(l);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = fd;
	l->cut = ends_cut(fd);
	l->blocks = fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
	l->complained = false;
}

static void
take(struct access_log *l, const struct entry *e)
{
	if (e->change) {
		change_file(l, e->fd);
		return;
	}
	l->used += access_format(&e->record, l->buffer + l->used);
	l->lines++;
	if (l->used >= BATCH_BYTES)
		flush(l);
}

static void
sleep_until_woken(struct access_log *l, uint64_t head)
{
	struct pollfd p = {.fd = l->wake_fd, .events = POLLIN};
	eventfd_t count;

	atomic_store(&l->sleeping, true);
	if (atomic_load(&l->tail) == head && !atomic_load(&l->closing))
		if (poll(&p, 1, -1) > 0)
			eventfd_read(l->wake_fd, &count);
	atomic_store(&l->sleeping, false);
}

static void *
writer_run(void *user)
{
	struct access_log *l = user;
	uint64_t head = 0;

	background_become();
	setpriority(PRIO_PROCESS, 0, 10); /* this thread alone, on Linux */
	for (;;) {
		uint64_t tail =
		    atomic_load_explicit(&l->tail, memory_order_acquire);

		if (head == tail) {
			flush(l);
			if (atomic_load(&l->closing) &&
			    atomic_load(&l->tail) == head)
				return NULL;
			sleep_until_woken(l, head);
			continue;
		}
		take(l, &l->ring[head % RING_RECORDS]);
		head++;
		atomic_store_explicit(&l->head, head, memory_order_release);
	}
}

/* --- the proxy thread ----------------------------------------------------- */

size_t
access_log_bytes(void)
{
	return sizeof(struct access_log);
}

/* Open standard output or error by its descriptor: its path belongs to the user
 * who started Tailor, before process.user. */
static int
open_standard(const char *path)
{
	int fd = strcmp(path, "/dev/stdout") == 0   ? STDOUT_FILENO
		 : strcmp(path, "/dev/stderr") == 0 ? STDERR_FILENO
						    : -1;

	if (fd < 0)
		return -EACCES;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd < 0 ? -errno : fd;
}

static int
log_new(struct access_log **out)
{
	struct access_log *l = calloc(1, sizeof(*l));
	sigset_t all, before;
	int err = -ENOMEM;

	if (l == NULL)
		return -ENOMEM;
	l->fd = -1;
	l->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (l->wake_fd < 0) {
		err = -errno;
		goto fail_log;
	}
	/* Signals belong to the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&l->writer, NULL, writer_run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err < 0)
		goto fail_wake;
	pthread_setname_np(l->writer, "access");
	*out = l;
	return 0;

fail_wake:
	close(l->wake_fd);
fail_log:
	free(l);
	return err;
}

/* Start the thread, for the first file.  As access_log_prepare. */
static int
log_begin(struct access_log **lp)
{
	int err = *lp == NULL ? log_new(lp) : 0;

	if (err < 0)
		log_event(LOG_LEVEL_ERROR, "access_log_not_started",
		    "error=\"%s\" advice=\"the log needs a thread and %zu KiB: "
		    "raise the limits on threads (TasksMax, ulimit -u) and "
		    "memory\"",
		    strerror(-err), access_log_bytes() >> 10);
	return err;
}

int
access_log_prepare(struct access_log **lp, const struct config *c, int *fd)
{
	const char *path = c->access_log.path;
	int err;

	*fd = -1;
	if (*path == '\0')
		return 0;
	err = log_begin(lp);
	if (err < 0)
		return err;
	/* Non-blocking: a pipe without a reader must not stop Tailor. */
	*fd = file_append(path, 0640);
	if (*fd == -EACCES)
		*fd = open_standard(path);
	if (*fd >= 0)
		return 0;
	log_event(LOG_LEVEL_ERROR, "access_log_unusable",
	    "path=\"%s\" error=\"%s\" advice=\"set access_log.path to a file "
	    "in a directory that Tailor's user may write to\"",
	    path, strerror(-*fd));
	return *fd;
}

/* Return the next free entry of the ring, or NULL. */
static struct entry *
place(struct access_log *l)
{
	uint64_t tail = atomic_load_explicit(&l->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&l->head, memory_order_acquire);

	return tail - head < RING_RECORDS ? &l->ring[tail % RING_RECORDS]
					  : NULL;
}

static void
commit(struct access_log *l)
{
	atomic_fetch_add(&l->tail, 1);
	if (atomic_load(&l->sleeping))
		eventfd_write(l->wake_fd, 1);
}

int
access_log_switch(struct access_log *l, int fd)
{
	struct entry *e;

	if (l == NULL) {
		assert(fd < 0);
		return 0;
	}
	e = place(l);
	if (e == NULL) {
		if (fd >= 0)
			close(fd);
		return -EAGAIN;
	}
	e->change = true;
	e->fd = fd;
	commit(l);
	return 0;
}

struct access_record *
access_log_begin(struct access_log *l)
{
	struct entry *e = place(l);

	if (e == NULL) {
		atomic_fetch_add_explicit(&l->dropped, 1, memory_order_relaxed);
		return NULL;
	}
	e->change = false;
	memset(&e->record, 0, offsetof(struct access_record, target) + 1);
	e->record.host[0] = e->record.referer[0] = e->record.user_agent[0] = 0;
	return &e->record;
}

void
access_log_commit(struct access_log *l)
{
	commit(l);
}

void
access_log_stats(const struct access_log *l, struct access_log_stats *out)
{
	*out = (struct access_log_stats){0};
	if (l == NULL)
		return;
	out->written = atomic_load_explicit(&l->written, memory_order_relaxed);
	out->dropped = atomic_load_explicit(&l->dropped, memory_order_relaxed);
	out->failed = atomic_load_explicit(&l->failed, memory_order_relaxed);
}

void
access_log_free(struct access_log **lp)
{
	struct access_log *l = *lp;

	if (l == NULL)
		return;
	atomic_store(&l->closing, true);
	eventfd_write(l->wake_fd, 1);
	pthread_join(l->writer, NULL);
	if (l->fd >= 0)
		close(l->fd);
	close(l->wake_fd);
	free(l);
	*lp = NULL;
}
