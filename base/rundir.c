#include "base/rundir.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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
