/*
 * output.c: see output.h.
 */
#include "loadgen/output.h"

#include <errno.h>
#include <string.h>

static FILE *
open_one(const char *path)
{
	return strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
}

int
output_open(
    struct output *o, const char *path, const char *dir, const char *name)
{
	memset(o, 0, sizeof(*o));
	if (path != NULL) {
		o->files[0] = open_one(path);
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
	o->files[1] = fopen(o->path, "we");
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

void
output_write(struct output *o, const char *text, size_t length)
{
	/* Errors stick to the stream; output_close() sees them. */
	for (int i = 0; i < 2; i++) {
		if (o->files[i] != NULL)
			(void)fwrite(text, 1, length, o->files[i]);
	}
}

int
output_close(struct output *o)
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
