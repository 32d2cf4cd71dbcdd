#include "loadgen/report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Open for writing, without truncating. */
static FILE *
open_one(const char *path, bool *made)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
	int fd = open(path, flags | O_EXCL, 0666);
	FILE *f;

	*made = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags, 0666);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w");
	if (f == NULL) /* no memory */
		close(fd);
	return f;
}

int
output_open(
    struct output *o, const char *path, const char *dir, const char *name)
{
	memset(o, 0, sizeof(*o));
	if (path != NULL) {
		o->given = path;
		o->files[0] = strcmp(path, "-") == 0
				  ? stdout
				  : open_one(path, &o->made[0]);
		if (o->files[0] == NULL) {
			o->failed = path;
			return -errno;
		}
	}
	if (dir == NULL)
		return 0;
	o->failed = o->path;
	int n = snprintf(o->path, sizeof(o->path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(o->path))
		return -ENAMETOOLONG;
	o->files[1] = open_one(o->path, &o->made[1]);
	if (o->files[1] == NULL)
		return -errno;
	o->failed = NULL;
	return 0;
}

bool
output_is_wanted(const struct output *o)
{
	return o->files[0] != NULL || o->files[1] != NULL;
}

/* The first result: truncate what the files held before. */
static void
begin(struct output *o)
{
	for (int i = 0; i < 2 && !o->written; i++) {
		if (o->files[i] == NULL || o->files[i] == stdout)
			continue;
		/* Only a file can be cut, and only a file needs it. */
		int err = ftruncate(fileno(o->files[i]), 0);
		(void)err;
	}
	o->written = true;
}

void
output_write(struct output *o, const char *text, size_t length)
{
	begin(o);
	/* Errors stick to the stream; output_close() sees them. */
	for (int i = 0; i < 2; i++) {
		if (o->files[i] != NULL)
			fwrite(text, 1, length, o->files[i]);
	}
}

int
output_json(struct output *o, struct json *j)
{
	char *text;
	size_t length;
	int err = json_take(j, &text, &length);

	if (err < 0)
		return err;
	output_write(o, text, length);
	output_write(o, "\n", 1);
	free(text);
	return 0;
}

static int
close_files(struct output *o)
{
	int err = 0;

	for (int i = 0; i < 2; i++) {
		FILE *f = o->files[i];
		if (f == NULL)
			continue;
		o->files[i] = NULL;
		if (ferror(f) || fflush(f) != 0)
			err = -EIO;
		if (f != stdout && fclose(f) != 0)
			err = -EIO;
	}
	return err;
}

int
output_close(struct output *o)
{
	begin(o);
	return close_files(o);
}

void
output_abandon(struct output *o)
{
	const char *path[] = {o->given, o->path};

	for (int i = 0; i < 2; i++) {
		if (o->files[i] != NULL && o->made[i] && !o->written)
			unlink(path[i]);
	}
	(void)close_files(o);
}
