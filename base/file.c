#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FILE_MAX ((size_t)256 << 20)

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

/* --- directories of our sockets and files ------------------------------ */

#define MADE_MAX 16

static struct {
	unsigned count;
	char path[MADE_MAX][PATH_MAX];
} made;

static void
note_made(const char *directory)
{
	if (made.count < MADE_MAX)
		snprintf(made.path[made.count++], sizeof(made.path[0]), "%s",
		    directory);
}

static bool
ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

int
rundir_prepare(const char *path)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat st;
	char *slash;
	int n = snprintf(directory, sizeof(directory), "%s", path);

	if (n < 0 || (size_t)n >= sizeof(directory))
		return -ENAMETOOLONG;
	slash = strrchr(directory, '/');
	if (slash == NULL || slash == directory)
		return 0; /* the working directory, or the root */
	*slash = '\0';
	if (mkdir(directory, 0750) == 0)
		note_made(directory);
	/* Check the link itself first: its owner decides where it leads. */
	if (lstat(directory, &st) < 0)
		return -errno;
	if (!ours(&st))
		return -EPERM;
	if (stat(directory, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (!ours(&st) || ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
			      (st.st_mode & S_ISVTX) == 0))
		return -EPERM;
	return 0;
}

static int
make_one(const char *path, mode_t mode)
{
	struct stat st;
	int err;

	if (mkdir(path, mode) == 0) {
		note_made(path);
		return 0;
	}
	/* Also after EACCES or EROFS: the directory may exist. */
	err = -errno;
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return err;
}

int
rundir_make(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	int err = 0;

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i < n && err == 0; i++) {
		if (path[i] != '/')
			continue;
		part[i] = '\0';
		err = make_one(part, 0750);
		part[i] = '/';
	}
	return err == 0 ? make_one(part, mode) : err;
}

int
rundir_give(uid_t uid, gid_t gid)
{
	int err = 0;

	/* The inner ones first: the new owner of an outer one could place a
	 * link. */
	for (unsigned i = made.count; i-- > 0;)
		if (lchown(made.path[i], uid, gid) < 0 && err == 0)
			err = -errno;
	return err;
}
