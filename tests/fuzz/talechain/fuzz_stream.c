/*
 * Goal: no bytes in a timeline stream's file crash a reader or a slice, and
 * whatever is sliced renders in every format.
 *
 * The input is laid over a good small stream: the header from its beginning,
 * then slots of 96 bytes from slot 0 on.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/talechain/story_check.h"

#define LOG2 10
#define HEADER_BYTES 136 /* up to head */
#define SLOT_BYTES 96

static const struct tale_request request = {
    .id = 1,
    .method = "GET",
    .target = "/",
    .status = 200,
    .first_byte = {1000000},
    .received = {1001000},
    .committed = {2000000},
    .finished = {3000000},
    .stream_end = 64,
    .attempt = {{.server = 0,
		    .server_name = "A",
		    .outcome = "lost",
		    .written = {1100000}},
	{.server = 1,
	    .server_name = "B",
	    .trigger = "gc",
	    .outcome = "won",
	    .written = {1500000},
	    .complete = {1900000}}},
};

/* A file with the input laid over a good stream; its name in path. */
static int
lay(char *path, size_t path_size, const uint8_t *data, size_t size)
{
	static char good[4096 + (SLOT_BYTES << LOG2)];
	static const uint64_t head = 64;
	struct timeline *t;
	size_t header = size < HEADER_BYTES ? size : HEADER_BYTES;
	size_t slots = size - header;
	int fd, in;

	snprintf(path, path_size, "/dev/shm/tailor-fuzz-%ld", (long)getpid());
	if (good[0] == '\0') {
		if (timeline_new(&t, path, LOG2) < 0)
			abort();
		in = open(path, O_RDONLY);
		if (read(in, good, sizeof(good)) != (ssize_t)sizeof(good))
			abort();
		close(in);
		timeline_free(&t);
	}
	if (slots > SLOT_BYTES << LOG2)
		slots = SLOT_BYTES << LOG2;
	fd = memfd_create("stream", MFD_CLOEXEC);
	if (fd < 0 || write(fd, good, sizeof(good)) != (ssize_t)sizeof(good))
		abort();
	/* A zero first byte keeps the good header, with slots in the ring. */
	if (pwrite(fd, &head, sizeof(head), HEADER_BYTES - 8) != 8)
		abort();
	if (header == HEADER_BYTES && data[0] != 0 &&
	    pwrite(fd, data, header, 0) != (ssize_t)header)
		abort();
	if (slots > 0 &&
	    pwrite(fd, data + header, slots, 4096) != (ssize_t)slots)
		abort();
	snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
}

static void
explain(struct timeline_reader *r)
{
	struct tale *t;
	struct story *s;
	int err = tale_slice(&t, r, &request, NULL, 200000);

	if (err < 0 && t == NULL)
		abort();
	if (tale_explain(&s, t) < 0)
		abort();
	story_check(s);
	story_render_check(s);
	story_free(&s);
	tale_free(&t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct timeline_reader *r;
	struct timeline_slot slot;
	enum timeline_read got;
	uint64_t lost, before;
	char path[64];
	unsigned i;
	int fd = lay(path, sizeof(path), data, size);

	if (timeline_reader_open(&r, path) == 0) {
		for (i = 0; i < 2048; i++) {
			before = timeline_reader_position(r);
			got = timeline_read(r, &slot, &lost);
			if (got == TIMELINE_READ_NONE)
				break;
			if (timeline_reader_position(r) !=
			    before + (got == TIMELINE_READ_LOST ? lost : 1))
				abort();
		}
		explain(r);
		timeline_reader_close(&r);
	}
	close(fd);
	return 0;
}
