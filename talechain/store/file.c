#include "talechain/store/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/instant.h"
#include "talechain/store/record.h"

#define DIGITS 16

static void
file_name(uint64_t number, const char *suffix, char out[STORE_FILE_NAME])
{
	snprintf(out, STORE_FILE_NAME, "%016llx%.10s",
	    (unsigned long long)number, suffix);
}

/* Whether it is the name of such a file. */
static bool
file_number(const char *name, const char *suffix, uint64_t *number)
{
	if (strspn(name, "0123456789abcdef") != DIGITS ||
	    strcmp(name + DIGITS, suffix) != 0)
		return false;
	*number = strtoull(name, NULL, 16);
	return true;
}

int
store_file_each(int directory, const char *suffix,
    int (*each)(void *user, uint64_t number), void *user)
{
	struct dirent **list = NULL;
	int n = scandirat(directory, ".", &list, NULL, alphasort);
	int err = n < 0 ? -errno : 0;
	uint64_t number;

	for (int i = 0; i < n; i++) {
		if (err == 0 && file_number(list[i]->d_name, suffix, &number))
			err = each(user, number);
		free(list[i]);
	}
	free(list);
	return err;
}

int
store_file_make(struct store_file *f, int directory, uint64_t number,
    const char *suffix, const char *boot_id)
{
	struct store_header h = {.magic = STORE_MAGIC,
	    .version = STORE_VERSION,
	    .created_wall_ns = instant_wall_now_ns()};
	char name[STORE_FILE_NAME];
	int err;

	file_name(number, suffix, name);
	snprintf(h.boot_id, sizeof(h.boot_id), "%s", boot_id);
	*f = (struct store_file){
	    .number = number, .suffix = suffix, .clean = true};
	f->fd =
	    directory < 0
		? memfd_create(name, MFD_CLOEXEC)
		: openat(directory, name,
		      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->fd < 0)
		return -errno;
	err = store_file_append(f, &h, sizeof(h));
	if (err < 0)
		store_file_drop(f, directory);
	return err;
}

/* Read up to length bytes; how many there were, or a negative errno. */
static ssize_t
read_whole(int fd, uint8_t *out, size_t length)
{
	size_t got = 0;

	while (got < length) {
		ssize_t n = pread(fd, out + got, length - got, (off_t)got);

		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static void
judge_header(struct store_file *f, const uint8_t *text, size_t *length,
    const char *boot_id)
{
	struct store_header h;

	f->clean = false;
	f->earlier_boot = true;
	if (*length < sizeof(h)) {
		*length = 0;
		return;
	}
	memcpy(&h, text, sizeof(h));
	if (h.magic != STORE_MAGIC || h.version != STORE_VERSION) {
		*length = 0;
		return;
	}
	h.boot_id[sizeof(h.boot_id) - 1] = '\0';
	f->earlier_boot = boot_id[0] == '\0' || strcmp(h.boot_id, boot_id) != 0;
	f->clean = !f->earlier_boot;
}

int
store_file_open(struct store_file *f, int directory, uint64_t number,
    const char *suffix, uint64_t bytes_max, const char *boot_id, uint8_t **text,
    size_t *length)
{
	char name[STORE_FILE_NAME];
	struct stat st, place;
	ssize_t n;
	int err;

	file_name(number, suffix, name);
	*f = (struct store_file){.number = number, .suffix = suffix};
	/* Non-blocking: a FIFO in that place must not hang us. */
	f->fd = openat(
	    directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	err = -EPROTO;
	if (fstat(f->fd, &st) < 0 || fstat(directory, &place) < 0 ||
	    !S_ISREG(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid != place.st_uid))
		goto fail_file;
	f->bytes = (uint64_t)st.st_size;
	*length = f->bytes < bytes_max ? (size_t)f->bytes : (size_t)bytes_max;
	err = -ENOMEM;
	*text = malloc(*length + 1);
	if (*text == NULL)
		goto fail_file;
	n = read_whole(f->fd, *text, *length);
	err = (int)n;
	if (n < 0)
		goto fail_text;
	*length = (size_t)n;
	judge_header(f, *text, length, boot_id);
	return 0;

fail_text:
	free(*text);
	*text = NULL;
fail_file:
	close(f->fd);
	return err;
}

int
store_file_append(struct store_file *f, const void *bytes, size_t length)
{
	size_t done = 0;
	int err = -EIO;

	while (done < length) {
		ssize_t n = pwrite(f->fd, (const char *)bytes + done,
		    length - done, (off_t)(f->bytes + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : -EIO;
			goto fail_write;
		}
		done += (size_t)n;
	}
	f->bytes += length;
	return 0;

fail_write:
	/* What was written of it is found to be torn if this fails too. */
	if (ftruncate(f->fd, (off_t)f->bytes) < 0)
		f->clean = false;
	return err;
}

void
store_file_drop(struct store_file *f, int directory)
{
	char name[STORE_FILE_NAME];

	if (directory >= 0) {
		file_name(f->number, f->suffix, name);
		unlinkat(directory, name, 0);
	}
	close(f->fd);
	f->fd = -1;
}
