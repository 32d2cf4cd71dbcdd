/*
 * Goal: no bytes in a file of the store crash it: what is read is a tale that
 * can be loaded, and the store takes one more and still has it when reopened.
 *
 * The input is the file; where four bytes of it say TALE, the checksum behind
 * them is made good, so that what lies under it is reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "talechain/explain/tale_struct.h"
#include "talechain/store/pack.h"
#include "talechain/store/record.h"
#include "talechain/store/store.h"

#define BOOT "b"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64], file[96], lock[96];

static void
leave(void)
{
	unlink(file);
	unlink(lock);
	rmdir(directory);
}

/* A good header, and good checksums. */
static void
repair(uint8_t *bytes, size_t size)
{
	struct store_header header = {
	    .magic = STORE_MAGIC, .version = STORE_VERSION, .boot_id = BOOT};
	struct record_header h;

	if (size < sizeof(header))
		return;
	/* A zero first byte asks for a good header. */
	if (bytes[0] == 0)
		memcpy(bytes, &header, sizeof(header));
	for (size_t at = sizeof(header); at + sizeof(h) <= size; at += 8) {
		memcpy(&h, bytes + at, sizeof(h));
		if (h.magic != RECORD_MAGIC || h.bytes > size - at ||
		    h.bytes < sizeof(h))
			continue;
		h.crc = crc32c(bytes + at + 8, h.bytes - 8);
		memcpy(bytes + at, &h, sizeof(h));
	}
}

static void
load_all(struct tale_store *s)
{
	struct tale_filter all = {.cause = -1};
	const struct tale_summary *said;
	unsigned at = 0;

	while ((said = tale_store_next(s, &all, &at)) != NULL) {
		struct tale *t = NULL;
		int err = tale_store_load(s, said->external_id, &t);

		if ((err == 0) != (t != NULL) || (err < 0 && err != -EPROTO))
			abort();
		tale_free(&t);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tale_store_options o = {.directory = directory,
	    .boot_id = BOOT,
	    .bytes_max = 1 << 20,
	    .keep = 64};
	struct tale_request request = {.id = 7, .external_id = "one more"};
	struct tale_summary said = {.verdict = "fine"};
	struct tale t = {.request = request};
	struct tale_store *s;
	uint8_t *bytes;
	int fd;

	if (directory[0] == '\0') {
		strcpy(directory, "/dev/shm/tailor-fuzz-XXXXXX");
		if (mkdtemp(directory) == NULL)
			abort();
		snprintf(file, sizeof(file), "%s/%016x.tales", directory, 1);
		snprintf(lock, sizeof(lock), "%s/lock", directory);
		atexit(leave);
	}
	bytes = malloc(size + 1);
	memcpy(bytes, data, size);
	repair(bytes, size);
	fd = open(file, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
	free(bytes);
	if (tale_store_open(&s, &o) < 0)
		abort();
	load_all(s);
	if (tale_store_add(s, &t, &said) < 0)
		abort();
	tale_store_close(&s);
	if (tale_store_open(&s, &o) < 0 ||
	    tale_store_find(s, "one more") == NULL)
		abort();
	tale_store_close(&s);
	/* The second file, if the first could not be gone on with. */
	snprintf(file, sizeof(file), "%s/%016x.tales", directory, 2);
	unlink(file);
	snprintf(file, sizeof(file), "%s/%016x.tales", directory, 1);
	return 0;
}
