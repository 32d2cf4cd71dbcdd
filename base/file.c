#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FILE_MAX ((size_t)256 << 20)

void
file_open_standard(void)
{
	while (fcntl(STDIN_FILENO, F_GETFD) < 0 ||
	       fcntl(STDOUT_FILENO, F_GETFD) < 0 ||
	       fcntl(STDERR_FILENO, F_GETFD) < 0)
		if (open("/dev/null", O_RDWR) < 0)
			_exit(EXIT_FAILURE);
}

int
file_read(const char *path, char **text, size_t *length)
{
	size_t capacity = 65536;
	size_t n = 0;
	size_t got;
	char *buffer, *bigger;
	FILE *f;
	int err;

	f = fopen(path, "re");
	if (f == NULL)
		return -errno;
	buffer = malloc(capacity + 1);
	if (buffer == NULL) {
		err = -ENOMEM;
		goto fail_file;
	}
	while ((got = fread(buffer + n, 1, capacity - n, f)) > 0) {
		n += got;
		if (n < capacity)
			continue;
		capacity *= 2;
		if (capacity > FILE_MAX) {
			err = -EFBIG;
			goto fail_buffer;
		}
		bigger = realloc(buffer, capacity + 1);
		if (bigger == NULL) {
			err = -ENOMEM;
			goto fail_buffer;
		}
		buffer = bigger;
	}
	if (ferror(f)) {
		err = errno != 0 ? -errno : -EIO;
		goto fail_buffer;
	}
	fclose(f);
	buffer[n] = '\0';
	*text = buffer;
	*length = n;
	return 0;

fail_buffer:
	free(buffer);
fail_file:
	fclose(f);
	return err;
}

int
file_write(const char *path, const char *text, size_t length)
{
	FILE *f = fopen(path, "we");
	int err = 0;

	if (f == NULL)
		return -errno;
	if (fwrite(text, 1, length, f) != length)
		err = -EIO;
	if (fclose(f) != 0)
		err = -EIO;
	return err;
}

bool
file_read_line(char *out, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	ssize_t got = 0;
	int n, fd;

	va_start(arguments, format);
	n = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	fd = n >= 0 && n < PATH_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		got = read(fd, out, size - 1);
		close(fd);
	}
	out[got > 0 ? got : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return got > 0;
}

bool
file_beside(const char *relative, char *out, size_t size)
{
	char self[PATH_MAX], path[PATH_MAX + 100], *real;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool found;

	if (n <= 0)
		return false;
	self[n] = '\0';
	snprintf(path, sizeof(path), "%.*s/%s",
	    (int)(strrchr(self, '/') - self), self, relative);
	real = realpath(path, NULL);
	found = real != NULL && strlen(real) < size;
	if (found)
		memcpy(out, real, strlen(real) + 1);
	free(real);
	return found;
}

bool
file_agent(char *out, size_t size)
{
	return file_beside("libtailor-jvm.so", out, size) ||
	       file_beside("../lib/tailor/libtailor-jvm.so", out, size);
}

int
file_make_directory(const char *path, size_t *made)
{
	char part[4096];
	size_t n = strlen(path);

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0777) == 0)
			*made = *made == 0 ? i : *made;
		else if (errno != EEXIST)
			return -errno;
	}
	return 0;
}

void
file_remove_directory(const char *path, size_t made)
{
	char part[4096];
	size_t n = strlen(path);

	if (made == 0)
		return;
	memcpy(part, path, n + 1);
	while (n >= made) {
		part[n] = '\0';
		if (rmdir(part) < 0)
			return;
		while (n > 0 && part[--n] != '/')
			;
	}
}

/* --- places that other users may have made ----------------------------- */

#define LINKS_MAX 16

/* A walk along a path that follows no other user's link. */
struct path_walk {
	int at; /* owned; the directory reached */
	unsigned links;
	char rest[PATH_MAX]; /* the path from there */
	char name[NAME_MAX + 1];
};

static bool
ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* True if users other than the owner may change a directory's entries. */
static bool
open_to_others(const struct stat *st)
{
	return (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static int
walk_from(struct path_walk *w, const char *path)
{
	w->at =
	    open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->at < 0 ? -errno : 0;
}

static int
walk_begin(struct path_walk *w, const char *path)
{
	*w = (struct path_walk){.at = -1};
	if (strlen(path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	strcpy(w->rest, path);
	return walk_from(w, path);
}

static void
walk_end(struct path_walk *w)
{
	if (w->at >= 0)
		close(w->at);
	w->at = -1;
}

/* Take the next name of the path.  1; 0 at the end; or a negative errno. */
static int
walk_name(struct path_walk *w)
{
	const char *begin = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(begin, "/");

	if (n >= sizeof(w->name))
		return -ENAMETOOLONG;
	memcpy(w->name, begin, n);
	w->name[n] = '\0';
	begin += n;
	begin += strspn(begin, "/");
	memmove(w->rest, begin, strlen(begin) + 1);
	return n > 0;
}

static void
walk_enter(struct path_walk *w, int fd)
{
	close(w->at);
	w->at = fd;
}

/* Put the target of a link (owned by us or root) before the rest of the path.
 * Links in /proc/PID/fd are opened directly, as they may have no path. */
static int
walk_link(struct path_walk *w, int link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	struct statfs fs;
	ssize_t n;
	int fd;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (fstatfs(link, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC) {
		fd = openat(w->at, w->name, O_PATH | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		walk_enter(w, fd);
		return 0;
	}
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	n = snprintf(rest, sizeof(rest), "%s/%s", target, w->rest);
	if (n < 0 || (size_t)n >= sizeof(rest))
		return -ENAMETOOLONG;
	if (w->rest[0] == '\0')
		rest[strlen(target)] = '\0';
	strcpy(w->rest, rest);
	if (target[0] != '/')
		return 0;
	walk_end(w);
	return walk_from(w, target);
}

/* Walk to the name.  0, -EPERM for another user's link, or another negative
 * errno. */
static int
walk_step(struct path_walk *w)
{
	int fd = openat(w->at, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		err = -errno;
	} else if (!S_ISLNK(st.st_mode)) {
		walk_enter(w, fd);
		return 0;
	} else {
		err = ours(&st) ? walk_link(w, fd) : -EPERM;
	}
	close(fd);
	return err;
}

enum walk_make {
	WALK_MAKES_LAST, /* if it is missing */
	WALK_MAKES_ALL,
};

/* Walk to a directory, and make missing ones as make says.  0, with *st of the
 * directory, or a negative errno. */
static int
walk_directory(
    const char *path, enum walk_make make, mode_t mode, struct stat *st)
{
	struct path_walk w;
	int err = walk_begin(&w, path), more;

	while (err == 0 && (more = walk_name(&w)) != 0) {
		bool last = w.rest[0] == '\0';

		err = more < 0 ? more : walk_step(&w);
		if (err != -ENOENT || (make == WALK_MAKES_LAST && !last))
			continue;
		err = mkdirat(w.at, w.name, last ? mode : 0750) < 0 &&
			      errno != EEXIST
			  ? -errno
			  : walk_step(&w);
	}
	if (err == 0 && fstat(w.at, st) < 0)
		err = -errno;
	if (err == 0 && !S_ISDIR(st->st_mode))
		err = -ENOTDIR;
	walk_end(&w);
	return err;
}

int
rundir_prepare(const char *path)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat st;
	char *slash;
	int n = snprintf(directory, sizeof(directory), "%s", path), err;

	if (n < 0 || (size_t)n >= sizeof(directory))
		return -ENAMETOOLONG;
	slash = strrchr(directory, '/');
	if (slash == NULL || slash == directory)
		return 0; /* the working directory, or the root */
	*slash = '\0';
	err = walk_directory(directory, WALK_MAKES_LAST, 0750, &st);
	if (err == 0 && (!ours(&st) || (open_to_others(&st) &&
					   (st.st_mode & S_ISVTX) == 0)))
		err = -EPERM;
	return err;
}

int
rundir_make(const char *path, mode_t mode)
{
	struct stat st;

	return walk_directory(path, WALK_MAKES_ALL, mode, &st);
}

/* Make the directory for the user, if only root may write to its parent. */
static int
walk_make_for(struct path_walk *w, uid_t uid, gid_t gid)
{
	int fd, err = 0;

	if (mkdirat(w->at, w->name, 0750) < 0)
		return errno == EEXIST ? 0 : -errno;
	fd = openat(
	    w->at, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchown(fd, uid, gid) < 0)
		err = -errno;
	close(fd);
	return err;
}

int
rundir_make_for(const char *path, uid_t uid, gid_t gid)
{
	struct path_walk w;
	struct stat st;
	int err = walk_begin(&w, path), more;

	while (err == 0 && (more = walk_name(&w)) != 0) {
		if (more < 0 || fstat(w.at, &st) < 0) {
			err = more < 0 ? more : -errno;
			break;
		}
		/* Below a directory that another user may change, the user
		 * must make the rest. */
		if (st.st_uid != 0 ||
		    (open_to_others(&st) && (st.st_mode & S_ISVTX) == 0))
			break;
		err = walk_step(&w);
		if (err != -ENOENT)
			continue;
		err = open_to_others(&st) ? 0 : walk_make_for(&w, uid, gid);
		break;
	}
	walk_end(&w);
	return err;
}

/* Refuse a file that another user may have put into the directory. */
static int
append_check(int fd, const struct stat *directory)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if ((!ours(directory) && st.st_nlink > 1) ||
	    (open_to_others(directory) && !ours(&st)))
		return -EPERM;
	return 0;
}

int
file_append(const char *path, mode_t mode)
{
	const int flags =
	    O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char reached[40];
	struct path_walk w;
	struct stat st = {0};
	int err = walk_begin(&w, path), fd = -1, more;

	while (err == 0 && fd < 0 && (more = walk_name(&w)) != 0) {
		err = more < 0 ? more : 0;
		if (err == 0 && w.rest[0] == '\0') {
			fd = openat(
			    w.at, w.name, flags | O_CREAT | O_NOFOLLOW, mode);
			if (fd < 0 && errno != ELOOP)
				err = -errno;
		}
		if (err == 0 && fd < 0)
			err = walk_step(&w);
	}
	if (err == 0 && fd >= 0) {
		err = fstat(w.at, &st) < 0 ? -errno : append_check(fd, &st);
	} else if (err == 0) { /* reached by a link of /proc */
		snprintf(reached, sizeof(reached), "/proc/self/fd/%d", w.at);
		fd = open(reached, flags);
		err = fd < 0 ? -errno : 0;
	}
	walk_end(&w);
	if (err < 0 && fd >= 0)
		close(fd);
	return err < 0 ? err : fd;
}
