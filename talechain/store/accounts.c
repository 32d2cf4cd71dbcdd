/* accounts.c: the files of accounts and their blocks.
 *
 * Only the newest file is open.  Where there is no good record, reading goes on
 * at the next place that looks like one, as in store.c. */
#include "talechain/store/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "talechain/store/account_pack.h"
#include "talechain/store/file.h"
#include "talechain/store/record.h"

#define SUFFIX ".accounts"
#define KIND "accounts 1" /* in place of a boot: files outlive those */
#define FILES_MAX 64
#define BYTES_MIN 4096

/* A file, and when what its blocks are of ended. */
struct account_file {
	struct store_file file; /* fd is -1 unless it is the newest */
	unsigned blocks;
	int64_t first_ns, last_ns; /* if there are blocks */
	int64_t account_ns;	   /* the last account; 0: none */
};

struct account_store {
	int directory; /* owned */
	uint64_t bytes_max, bytes, accounts, next_file;
	struct account_file file[FILES_MAX]; /* oldest first */
	unsigned files;
	uint64_t dropped, corrupt;
};

/* --- reading -------------------------------------------------------------- */

/* What a file's blocks are taken by. */
struct walk {
	int64_t from_ns, to_ns; /* others are passed over */
	void (*block)(struct walk *w, const struct account_head *head,
	    const uint8_t *packed, size_t length);
	/* Of the caller: */
	void (*take)(void *user, const struct account_named *one);
	void *user;
	struct account_file *file;
	uint64_t *slow, *other;
	uint32_t *counters;
	void (*take_latency)(void *user, const struct latency_block *block);
	struct latency_block *latency;
};

/* Take the blocks of a file's bytes.  How many places were no good block. */
static unsigned
walk_bytes(struct walk *w, const uint8_t *text, size_t length)
{
	size_t at = sizeof(struct store_header);
	bool lost = false;
	unsigned bad = 0;

	while (at < length) {
		struct account_head head;
		struct record_header h;
		const uint8_t *packed = text + at + sizeof(h);
		bool good = record_at(text + at, length - at, &h) &&
			    account_head_read(packed, h.packed, &head) == 0;

		if (good && head.last_ns >= w->from_ns &&
		    head.first_ns < w->to_ns)
			w->block(w, &head, packed, h.packed);
		/* One place, however many bytes of it: counted once. */
		bad += !good && !lost;
		lost = !good;
		at += good ? h.bytes : 8;
	}
	return bad;
}

/* Walk the files that have accounts of that time. */
static int
walk_files(struct account_store *s, struct walk *w)
{
	for (unsigned i = 0; i < s->files; i++) {
		struct account_file *f = &s->file[i];
		struct store_file again;
		uint8_t *text = NULL;
		size_t length = 0;
		int err;

		if (f->blocks == 0 || f->last_ns < w->from_ns ||
		    f->first_ns >= w->to_ns)
			continue;
		err = store_file_open(&again, s->directory, f->file.number,
		    SUFFIX, s->bytes_max, KIND, &text, &length);
		if (err == -ENOENT || err == -EPROTO)
			continue;
		if (err < 0)
			return err;
		walk_bytes(w, text, length);
		free(text);
		close(again.fd);
	}
	return 0;
}

static void
one_take(void *user, const struct account_named *one)
{
	const struct walk *w = user;

	if (one->account.end_wall_ns >= w->from_ns &&
	    one->account.end_wall_ns < w->to_ns)
		w->take(w->user, one);
}

/* A block whose checksum is good and whose accounts are not was made so on
 * purpose: those before the bad one are taken. */
static void
block_take(struct walk *w, const struct account_head *head,
    const uint8_t *packed, size_t length)
{
	if (head->n > 0)
		(void)account_unpack(packed, length, one_take, w);
}

int
account_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct account_named *one), void *user)
{
	struct walk w = {.from_ns = from_wall_ns,
	    .to_ns = to_wall_ns,
	    .block = block_take,
	    .take = take,
	    .user = user};

	return walk_files(s, &w);
}

static void
block_count(struct walk *w, const struct account_head *head,
    const uint8_t *packed, size_t length)
{
	(void)packed;
	(void)length;
	*w->slow += head->slow;
	*w->other += head->n - head->slow;
	for (unsigned i = 0; i < head->counters; i++)
		if (head->counter[i] >= 0)
			*w->counters |= 1U << head->counter[i];
}

int
account_store_count(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns, uint64_t *slow, uint64_t *other, uint32_t *counters)
{
	struct walk w = {.from_ns = from_wall_ns,
	    .to_ns = to_wall_ns,
	    .block = block_count,
	    .slow = slow,
	    .other = other,
	    .counters = counters};

	*slow = *other = 0;
	*counters = 0;
	return walk_files(s, &w);
}

static void
block_take_latency(struct walk *w, const struct account_head *head,
    const uint8_t *packed, size_t length)
{
	if (head->n == 0 && head->first_ns >= w->from_ns &&
	    head->last_ns <= w->to_ns &&
	    latency_unpack(packed, length, w->latency) == 0)
		w->take_latency(w->user, w->latency);
}

int
latency_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct latency_block *block), void *user)
{
	struct walk w = {.from_ns = from_wall_ns,
	    .to_ns = to_wall_ns,
	    .block = block_take_latency,
	    .latency = malloc(sizeof(struct latency_block)),
	    .take_latency = take,
	    .user = user};
	int err = w.latency == NULL ? -ENOMEM : walk_files(s, &w);

	free(w.latency);
	return err;
}

/* --- opening -------------------------------------------------------------- */

static void
file_note(struct account_file *f, const struct account_head *head)
{
	if (f->blocks == 0 || head->first_ns < f->first_ns)
		f->first_ns = head->first_ns;
	if (f->blocks == 0 || head->last_ns > f->last_ns)
		f->last_ns = head->last_ns;
	if (head->n > 0 && head->last_ns > f->account_ns)
		f->account_ns = head->last_ns;
	f->file.tales += head->n;
	f->blocks++;
}

static void
block_note(struct walk *w, const struct account_head *head,
    const uint8_t *packed, size_t length)
{
	(void)packed;
	(void)length;
	file_note(w->file, head);
}

static void
file_close(struct account_file *f)
{
	if (f->file.fd >= 0)
		close(f->file.fd);
	f->file.fd = -1;
}

static void
file_drop_oldest(struct account_store *s)
{
	struct account_file *f = &s->file[0];

	s->dropped += f->file.tales;
	s->accounts -= f->file.tales;
	s->bytes -= f->file.bytes;
	file_close(f);
	store_file_drop(&f->file, s->directory);
	s->files--;
	memmove(&s->file[0], &s->file[1], s->files * sizeof(s->file[0]));
}

/* Take a file of the directory in.  0 (also if it is of no use) or errno. */
static int
file_read(struct account_store *s, uint64_t number)
{
	struct account_file *f;
	uint8_t *text = NULL;
	size_t length = 0;
	struct walk w = {
	    .from_ns = INT64_MIN, .to_ns = INT64_MAX, .block = block_note};
	unsigned bad;
	int err;

	if (s->files == FILES_MAX)
		file_drop_oldest(s);
	if (s->files > 0)
		file_close(&s->file[s->files - 1]);
	f = &s->file[s->files];
	*f = (struct account_file){.first_ns = 0};
	err = store_file_open(&f->file, s->directory, number, SUFFIX,
	    s->bytes_max, KIND, &text, &length);
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	s->corrupt += err < 0 || length == 0;
	if (err < 0)
		return 0;
	s->files++;
	w.file = f;
	bad = walk_bytes(&w, text, length);
	free(text);
	f->file.clean &= bad == 0 && length == f->file.bytes;
	s->corrupt += bad;
	s->bytes += f->file.bytes;
	s->accounts += f->file.tales;
	return 0;
}

/* One more file; the bound may have become smaller. */
static int
take_file(void *user, uint64_t number)
{
	struct account_store *s = user;
	int err = file_read(s, number);

	s->next_file = number + 1;
	while (s->bytes > s->bytes_max && s->files > 1)
		file_drop_oldest(s);
	return err;
}

int
account_store_open(
    struct account_store **out, const char *directory, uint64_t bytes_max)
{
	struct account_store *s;
	int err = 0;

	if (bytes_max < BYTES_MIN)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->bytes_max = bytes_max;
	s->directory =
	    open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->directory < 0)
		err = -errno;
	if (err == 0)
		err = store_file_each(s->directory, SUFFIX, take_file, s);
	if (err < 0)
		account_store_close(&s);
	else
		*out = s;
	return err;
}

void
account_store_close(struct account_store **sp)
{
	struct account_store *s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	for (unsigned i = 0; i < s->files; i++)
		file_close(&s->file[i]);
	if (s->directory >= 0)
		close(s->directory);
	free(s);
}

/* --- adding --------------------------------------------------------------- */

/* The file to append so many bytes to.  0 or a negative errno. */
static int
file_room(struct account_store *s, size_t bytes, struct account_file **out)
{
	struct account_file *f = s->files > 0 ? &s->file[s->files - 1] : NULL;
	bool more =
	    f != NULL && f->file.fd >= 0 && f->file.clean &&
	    (f->blocks == 0 || f->file.bytes + bytes <= s->bytes_max / 16);
	size_t need = bytes + (more ? 0 : sizeof(struct store_header));
	int err;

	while (s->files > more &&
	       (s->bytes + need > s->bytes_max || s->files == FILES_MAX))
		file_drop_oldest(s);
	if (!more) {
		f = &s->file[s->files];
		*f = (struct account_file){.first_ns = 0};
		err = store_file_make(
		    &f->file, s->directory, s->next_file, SUFFIX, KIND);
		if (err < 0)
			return err;
		if (s->files > 0)
			file_close(&s->file[s->files - 1]);
		s->next_file++;
		s->files++;
		s->bytes += f->file.bytes;
	}
	*out = &s->file[s->files - 1];
	return 0;
}

/* The beginning of a record, to be freed.  0 or -ENOMEM. */
static int
record_begin(struct packed *out)
{
	out->length = sizeof(struct record_header);
	out->at = calloc(1, out->length);
	return out->at == NULL ? -ENOMEM : 0;
}

/* A block was packed into it: make the record whole.  0 or -ENOMEM. */
static int
record_end(struct packed *out)
{
	struct record_header h = {0};
	size_t bytes;
	uint8_t *grown;

	bytes = (out->length + 7) & ~(size_t)7;
	grown = realloc(out->at, bytes);
	if (grown == NULL)
		return -ENOMEM;
	out->at = grown;
	memset(grown + out->length, 0, bytes - out->length);
	record_seal((struct record_header *)(void *)grown, (uint32_t)bytes,
	    (uint32_t)(out->length - sizeof(h)));
	out->length = bytes;
	return 0;
}

/* Append a block that was packed, if err is 0; the record is freed. */
static int
record_add(struct account_store *s, struct packed *record, int err)
{
	struct account_head head;
	struct account_file *f;

	if (err == 0)
		err = record_end(record);
	if (err == 0 && record->length > s->bytes_max / 4)
		err = -EFBIG;
	if (err == 0)
		err = file_room(s, record->length, &f);
	if (err == 0)
		err = store_file_append(&f->file, record->at, record->length);
	if (err == 0) {
		account_head_read(record->at + sizeof(struct record_header),
		    record->length - sizeof(struct record_header), &head);
		file_note(f, &head);
		s->bytes += record->length;
		s->accounts += head.n;
	}
	free(record->at);
	return err;
}

int
account_store_add(
    struct account_store *s, const struct account_named *one, unsigned n)
{
	struct packed record = {0};
	int err = record_begin(&record);

	return record_add(
	    s, &record, err == 0 ? account_pack(&record, one, n) : err);
}

int
latency_store_add(struct account_store *s, const struct latency_block *block)
{
	struct packed record = {0};
	int err = record_begin(&record);

	return record_add(
	    s, &record, err == 0 ? latency_pack(&record, block) : err);
}

void
account_store_stats(
    const struct account_store *s, struct account_store_stats *out)
{
	*out = (struct account_store_stats){.bytes = s->bytes,
	    .accounts = s->accounts,
	    .dropped = s->dropped,
	    .corrupt = s->corrupt,
	    .files = s->files};
	for (unsigned i = 0; i < s->files; i++)
		if (s->file[i].account_ns > out->last_wall_ns)
			out->last_wall_ns = s->file[i].account_ns;
}
