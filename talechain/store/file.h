/* file.h: one file of the store: made, read back, appended to.  Private to this
 * room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_FILE_NAME 32

struct store_file {
	uint64_t number;    /* in its name; newer is higher */
	const char *suffix; /* of its name; borrowed */
	int fd;		    /* owned */
	uint64_t bytes;
	unsigned tales;	   /* of the index that are in it; or accounts */
	bool earlier_boot; /* its clock is not the present one */
	bool clean;	   /* whole to its last byte: may be continued */
};

/* Call each with the number of every file of a directory that is named as
 * "0000000000000001.tales", ".tales" being the suffix, in order, until it
 * returns a negative errno.  Returns that, 0, or a negative errno. */
int store_file_each(int directory, const char *suffix,
    int (*each)(void *user, uint64_t number), void *user);

/* Make an empty file with that number; directory is a descriptor, or -1 for
 * anonymous memory.  0 or a negative errno. */
int store_file_make(struct store_file *f, int directory, uint64_t number,
    const char *suffix, const char *boot_id);

/* Open an existing one and read it whole (up to bytes_max).  *text is owned by
 * the caller: all its bytes, of which *length.  0, -EPROTO not a regular file
 * of ours or of the directory's owner, or a negative errno.  A file of another
 * version is not clean and has *length 0. */
int store_file_open(struct store_file *f, int directory, uint64_t number,
    const char *suffix, uint64_t bytes_max, const char *boot_id, uint8_t **text,
    size_t *length);

/* Append; 0, or a negative errno and the file is as before. */
int store_file_append(struct store_file *f, const void *bytes, size_t length);

/* Close it, and unlink it if directory >= 0. */
void store_file_drop(struct store_file *f, int directory);
