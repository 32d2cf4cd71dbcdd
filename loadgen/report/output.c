#include "loadgen/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Open for writing, without truncating. */
static FILE *
open_file(const char *path, bool *made)
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
output_open(struct report_output *o, const char *path, const char *dir,
    const char *name)
{
	int n = 0;

	memset(o, 0, sizeof(*o));
	if (path != NULL)
		n = snprintf(o->path, sizeof(o->path), "%s", path);
	else if (dir != NULL)
		n = snprintf(o->path, sizeof(o->path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(o->path))
		return -ENAMETOOLONG;
	if (n == 0)
		return 0;
	o->file =
	    strcmp(o->path, "-") == 0 ? stdout : open_file(o->path, &o->made);
	return o->file != NULL ? 0 : -errno;
}

/* The first result: truncate what the file held before. */
static void
begin(struct report_output *o)
{
	/* Truncating fails on other things than files, which do not need it. */
	if (!o->written && o->file != NULL && o->file != stdout) {
		int err = ftruncate(fileno(o->file), 0);
		(void)err;
	}
	o->written = true;
}

int
output_json(struct report_output *o, struct json *j)
{
	begin(o);
	/* Errors stick to the stream; output_close() sees them. */
	return json_print(j, o->file) == -ENOMEM ? -ENOMEM : 0;
}

static int
close_file(struct report_output *o)
{
	FILE *f = o->file;
	int err = 0;

	o->file = NULL;
	if (f == NULL)
		return 0;
	if (ferror(f) || fflush(f) != 0)
		err = -EIO;
	if (f != stdout && fclose(f) != 0)
		err = -EIO;
	return err;
}

int
output_close(struct report_output *o)
{
	begin(o);
	return close_file(o);
}

void
output_abandon(struct report_output *o)
{
	if (o->file != NULL && o->made && !o->written)
		unlink(o->path);
	(void)close_file(o);
}
