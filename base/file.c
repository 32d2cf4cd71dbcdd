#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
