/* spool.c: files without names, written at the end and sent from any offset. */
#include "proxy/net/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/file.h"

#define SEND_MAX ((size_t)262144) /* in one turn */

/* Open a file and remove its name, on a file system without O_TMPFILE. */
static int
open_named(const char *directory)
{
	char path[PATH_MAX];
	int fd, n;

	n = snprintf(path, sizeof(path), "%s/spool.XXXXXX", directory);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* Open a file without a name; makes the directory again if it was removed. */
static int
open_file(const char *directory)
{
	const int flags = O_TMPFILE | O_RDWR | O_CLOEXEC;
	int fd = open(directory, flags, 0600);

	if (fd < 0 && errno == ENOENT && rundir_make(directory, 0700) == 0)
		fd = open(directory, flags, 0600);
	if (fd >= 0)
		return fd;
	return errno == EOPNOTSUPP || errno == EISDIR ? open_named(directory)
						      : -errno;
}

int
spool_try(const char *directory)
{
	int fd = open_file(directory);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static unsigned
part_of(enum spool_use use)
{
	return use == SPOOL_RESPONSE ? 2 : 1;
}

static bool
may_open(const struct spools *all, enum spool_use use)
{
	return *all->directory != '\0' && all->now.files < all->files_max &&
	       all->used[use].files < all->files_max / part_of(use);
}

static bool
has_room(const struct spools *all, enum spool_use use, uint64_t bytes)
{
	uint64_t most = all->bytes_max / part_of(use);

	return bytes <= most && all->used[use].bytes <= most - bytes &&
	       all->now.bytes <= all->bytes_max - bytes;
}

static enum spool_result
spool_open(struct spools *all, struct spool *s, enum spool_use use)
{
	int fd;

	if (!may_open(all, use))
		return SPOOL_LIMIT;
	fd = open_file(all->directory);
	if (fd < 0) {
		errno = -fd;
		return SPOOL_FAILED;
	}
	*s = (struct spool){.open = true, .use = use, .fd = fd};
	all->now.files++;
	all->used[use].files++;
	all->use[use].files++;
	return SPOOL_OK;
}

static enum spool_result
spool_write(struct spools *all, struct spool *s, struct chain *data,
    struct block_pool *pool)
{
	struct iovec iov[CHAIN_IOV];

	while (data->bytes > 0) {
		int pieces = chain_iov(data, iov, CHAIN_IOV);
		ssize_t n = pwritev(s->fd, iov, pieces, (off_t)s->bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return SPOOL_FAILED;
		s->bytes += (uint64_t)n;
		all->now.bytes += (uint64_t)n;
		all->used[s->use].bytes += (uint64_t)n;
		all->use[s->use].bytes += (uint64_t)n;
		chain_consume(data, pool, (size_t)n);
	}
	chain_clear(data, pool);
	return SPOOL_OK;
}

enum spool_result
spool_add(struct spools *all, struct spool *s, struct chain *data,
    struct block_pool *pool, enum spool_use use)
{
	enum spool_result result = SPOOL_OK;

	if (!has_room(all, use, data->bytes))
		result = SPOOL_LIMIT;
	if (result == SPOOL_OK && !s->open)
		result = spool_open(all, s, use);
	if (result == SPOOL_OK)
		result = spool_write(all, s, data, pool);
	all->use[use].limited += result == SPOOL_LIMIT;
	all->use[use].failed += result == SPOOL_FAILED;
	return result;
}

ssize_t
spool_send(const struct spool *s, uint64_t at, int fd)
{
	off_t from = (off_t)at;
	uint64_t left = s->bytes - at;
	ssize_t n = sendfile(
	    fd, s->fd, &from, left < SEND_MAX ? (size_t)left : SEND_MAX);

	if (n != 0)
		return n;
	errno = EIO; /* the file is shorter than s->bytes */
	return -1;
}

void
spool_close(struct spools *all, struct spool *s)
{
	if (!s->open)
		return;
	close(s->fd);
	all->now.files--;
	all->now.bytes -= s->bytes;
	all->used[s->use].files--;
	all->used[s->use].bytes -= s->bytes;
	*s = (struct spool){0};
}
