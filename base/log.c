/* The caller formats on its stack; the lock covers only the copy into the ring.
 * The writer copies a line out, renders and writes it unlocked.  A slot stores
 * how many lines were dropped just before it, so a loss is reported where it
 * happened.
 *
 * Cost: one MiB of ring, static; a caller pays a futex wake only when the
 * writer sleeps. */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/background.h"
#include "base/instant.h"
#include "base/log_line.h"

#define LINES 1024

/* How long log_close() waits for a blocked reader of stderr. */
#define CLOSE_PATIENCE_NS NS_PER_S

struct slot {
	uint64_t dropped_before;
	struct log_line line;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	/* Under the lock. */
	bool running;
	bool closing;
	uint64_t head; /* next to write out */
	uint64_t tail; /* next to fill */
	uint64_t dropped_pending;
	struct log_line error; /* the latest; its length is 0: none */
	bool error_is_last;
	struct slot ring[LINES];
	/* Set before the writer starts, read only after. */
	int close_fd; /* readable once closing: wakes a writer in poll() */
	pthread_t writer;
	/* Any thread; relaxed, as they are independent. */
	_Atomic enum log_line_style style;
	_Atomic unsigned level;
	_Atomic uint64_t dropped;
} log_state = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .filled = PTHREAD_COND_INITIALIZER,
    .close_fd = -1,
    .level = LOG_LEVEL_NOTICE,
};

/* --- output ----------------------------------------------------------- */

/* Wait until stderr accepts PIPE_BUF bytes, without limit until log_close();
 * then at most CLOSE_PATIENCE_NS.  False on timeout. */
static bool
wait_writable(int close_fd)
{
	struct pollfd fds[2] = {
	    {.fd = STDERR_FILENO, .events = POLLOUT},
	    {.fd = close_fd, .events = POLLIN},
	};
	int timeout_ms = -1;

	for (;;) {
		int n = poll(fds, 2, timeout_ms);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (fds[0].revents != 0)
			return true;
		fds[1].fd = -1;
		timeout_ms = (int)(CLOSE_PATIENCE_NS / NS_PER_MS);
	}
}

static bool
write_all(const char *s, size_t n, int close_fd)
{
	while (n > 0) {
		size_t part = n < PIPE_BUF ? n : PIPE_BUF;
		ssize_t done;

		if (!wait_writable(close_fd))
			return false;
		done = write(STDERR_FILENO, s, part);
		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done < 0)
			return false;
		s += done;
		n -= (size_t)done;
	}
	return true;
}

/* Returns false if the line was lost. */
static bool
write_line(const struct log_line *line, int close_fd)
{
	char out[LOG_LINE_RENDERED_MAX];
	size_t n = log_line_render(line,
	    atomic_load_explicit(&log_state.style, memory_order_relaxed), out);

	return n > 0 && write_all(out, n, close_fd);
}

static void __attribute__((format(printf, 3, 4)))
make_line(struct log_line *line, const char *event, const char *format, ...)
{
	va_list arguments;

	clock_gettime(CLOCK_REALTIME, &line->when);
	va_start(arguments, format);
	log_line_format(line, event, format, arguments);
	va_end(arguments);
}

static bool
write_loss(uint64_t lines)
{
	struct log_line line = {.level = LOG_LEVEL_WARNING};

	make_line(&line, "log_lines_dropped", "lines=%llu",
	    (unsigned long long)lines);
	return write_line(&line, log_state.close_fd);
}

/* --- the writer thread ------------------------------------------------ */

/* Wait for the next line, or for a loss to report.  False: closing. */
static bool
slot_take(struct slot *out)
{
	bool got;

	pthread_mutex_lock(&log_state.lock);
	while (log_state.head == log_state.tail && !log_state.closing &&
	       log_state.dropped_pending == 0)
		pthread_cond_wait(&log_state.filled, &log_state.lock);
	got = true;
	if (log_state.head != log_state.tail) {
		*out = log_state.ring[log_state.head++ % LINES];
	} else if (log_state.dropped_pending != 0) {
		out->dropped_before = log_state.dropped_pending;
		out->line.length = 0;
		log_state.dropped_pending = 0;
	} else {
		got = false;
	}
	pthread_mutex_unlock(&log_state.lock);
	return got;
}

static void *
writer_run(void *unused)
{
	struct slot slot;
	bool alive = true;

	(void)unused;
	background_become();
	while (slot_take(&slot)) {
		if (alive && slot.dropped_before > 0)
			alive = write_loss(slot.dropped_before);
		if (slot.line.length == 0)
			continue;
		if (alive)
			alive = write_line(&slot.line, log_state.close_fd);
		if (!alive)
			atomic_fetch_add_explicit(
			    &log_state.dropped, 1, memory_order_relaxed);
		/* While closing, give up after one blocked write. */
		pthread_mutex_lock(&log_state.lock);
		alive = alive || !log_state.closing;
		pthread_mutex_unlock(&log_state.lock);
	}
	return NULL;
}

/* Copy a line into the ring.  False: no writer thread, write directly. */
static bool
slot_put(const struct log_line *line)
{
	struct slot *slot;
	bool running;

	pthread_mutex_lock(&log_state.lock);
	running = log_state.running;
	log_state.error_is_last = line->level == LOG_LEVEL_ERROR;
	if (log_state.error_is_last)
		log_state.error = *line;
	if (running && log_state.tail - log_state.head < LINES) {
		slot = &log_state.ring[log_state.tail++ % LINES];
		slot->dropped_before = log_state.dropped_pending;
		log_state.dropped_pending = 0;
		slot->line.when = line->when;
		slot->line.level = line->level;
		slot->line.length = line->length;
		memcpy(slot->line.text, line->text, line->length);
		pthread_cond_signal(&log_state.filled);
	} else if (running) {
		log_state.dropped_pending++;
		atomic_fetch_add_explicit(
		    &log_state.dropped, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&log_state.lock);
	return running;
}

/* --- public ----------------------------------------------------------- */

/* True if stderr itself is the journal's socket, not just a parent's. */
static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream != NULL &&
	       sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}

static int
writer_start(void)
{
	sigset_t all, before;
	int err;

	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&log_state.writer, NULL, writer_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err == 0)
		pthread_setname_np(log_state.writer, "log");
	return -err;
}

void
log_prepare(enum log_level level, enum log_format format)
{
	enum log_line_style style = LOG_LINE_TEXT;

	if (format == LOG_FORMAT_JSON)
		style = LOG_LINE_JSON;
	else if (stderr_is_journal())
		style = LOG_LINE_JOURNAL;
	log_level_set(level);
	atomic_store_explicit(&log_state.style, style, memory_order_relaxed);
}

int
log_open(void)
{
	int err;

	assert(!log_state.running);
	log_state.closing = false;
	log_state.close_fd = eventfd(0, EFD_CLOEXEC);
	if (log_state.close_fd < 0)
		return -errno;
	err = writer_start();
	if (err != 0) {
		close(log_state.close_fd);
		log_state.close_fd = -1;
		return err;
	}
	pthread_mutex_lock(&log_state.lock);
	log_state.running = true;
	pthread_mutex_unlock(&log_state.lock);
	return 0;
}

void
log_close(void)
{
	if (log_state.close_fd < 0)
		return;
	pthread_mutex_lock(&log_state.lock);
	log_state.running = false;
	log_state.closing = true;
	pthread_cond_signal(&log_state.filled);
	pthread_mutex_unlock(&log_state.lock);
	eventfd_write(log_state.close_fd, 1);
	pthread_join(log_state.writer, NULL);
	close(log_state.close_fd);
	log_state.close_fd = -1;
}

enum log_level
log_level_get(void)
{
	return atomic_load_explicit(&log_state.level, memory_order_relaxed);
}

void
log_level_set(enum log_level level)
{
	atomic_store_explicit(&log_state.level, level, memory_order_relaxed);
}

void
log_event(enum log_level level, const char *event, const char *format, ...)
{
	int error = errno;
	struct log_line line;
	va_list arguments;

	if (level > log_level_get())
		return;
	line.level = level;
	clock_gettime(CLOCK_REALTIME, &line.when);
	va_start(arguments, format);
	log_line_format(&line, event, format, arguments);
	va_end(arguments);
	if (!slot_put(&line))
		write_line(&line, -1);
	errno = error;
}

void
log_repeat_error(void)
{
	struct log_line line;

	pthread_mutex_lock(&log_state.lock);
	line = log_state.error;
	if (log_state.error_is_last)
		line.length = 0;
	pthread_mutex_unlock(&log_state.lock);
	if (line.length > 0 && !slot_put(&line))
		write_line(&line, -1);
}

uint64_t
log_dropped(void)
{
	return atomic_load_explicit(&log_state.dropped, memory_order_relaxed);
}
