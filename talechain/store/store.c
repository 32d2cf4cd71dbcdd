/* store.c: the files of the store and their records.
 *
 * Files are kept open, the newest is appended to.  A file ends at a sixteenth
 * of the bound (so that dropping one costs few tales), with the machine's boot,
 * or when its end is torn.  Reading one back goes from record to record; where
 * there is no good one, it goes on at the next place that looks like one. */
#include "talechain/store/store.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/file.h"
#include "talechain/explain/tale_struct.h"
#include "talechain/store/file.h"
#include "talechain/store/index.h"
#include "talechain/store/pack.h"
#include "talechain/store/record.h"

#define SUFFIX ".tales"
#define FILES_MAX 64
#define BYTES_MIN 4096
#define KEEP_MAX 65536

struct tale_store {
	int directory; /* owned; -1: anonymous memory */
	int lock;      /* owned; -1: none */
	uint64_t bytes_max, bytes;
	unsigned keep;
	char boot_id[40];
	struct store_index index;
	struct store_file file[FILES_MAX]; /* owned; oldest first */
	unsigned files;
	uint64_t next_file;
	uint64_t added, dropped, corrupt;
};

const char *
tale_reason_name(enum tale_reason reason)
{
	static const char *const name[] = {
#define TALE_X(symbol, word) word,
	    TALE_REASONS(TALE_X)
#undef TALE_X
	};

	return reason < TALE_REASON_COUNT ? name[reason] : "unknown";
}

void
tale_summarise(struct tale_summary *s, const struct tale_request *r)
{
	const struct tale_attempt *won = NULL;

	s->request = r->id;
	memcpy(s->external_id, r->external_id, sizeof(s->external_id));
	memcpy(s->method, r->method, sizeof(s->method));
	memcpy(s->target, r->target, sizeof(s->target));
	memcpy(s->flags, r->flags, sizeof(s->flags));
	s->status = r->status;
	s->total_ns = instant_since(r->finished, r->first_byte);
	s->upstream_ns = -1;
	s->attempts = 0;
	s->winner[0] = s->trigger[0] = '\0';
	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		const struct tale_attempt *a = &r->attempt[i];

		s->attempts += a->server >= 0;
		if (a->server >= 0 && strcmp(a->outcome, "won") == 0)
			won = a;
		if (a->server >= 0 && i > 0)
			memcpy(s->trigger, a->trigger, sizeof(s->trigger));
	}
	if (won == NULL)
		return;
	memcpy(s->winner, won->server_name, sizeof(s->winner));
	if (instant_is_set(won->complete) && instant_is_set(won->written))
		s->upstream_ns = instant_since(won->complete, won->written);
}

static struct store_file *
file_numbered(struct tale_store *s, uint64_t number)
{
	for (unsigned i = 0; i < s->files; i++)
		if (s->file[i].number == number)
			return &s->file[i];
	return NULL;
}

/* Take an entry out of the index; its bytes stay until their file goes. */
static void
entry_forget(struct tale_store *s, struct store_entry *e)
{
	struct store_file *f = file_numbered(s, e->file);

	store_index_remove(&s->index, e);
	if (f != NULL)
		f->tales--;
	free(e);
}

/* Drop the oldest file and all that is in it. */
static void
file_drop_oldest(struct tale_store *s)
{
	struct store_file *f = &s->file[0];

	for (unsigned i = s->index.first; f->tales > 0 && i < s->index.last;
	     i++) {
		struct store_entry *e = s->index.entry[i];

		if (e != NULL && e->file == f->number) {
			entry_forget(s, e);
			s->dropped++;
		}
	}
	s->bytes -= f->bytes;
	store_file_drop(f, s->directory);
	s->files--;
	memmove(&s->file[0], &s->file[1], s->files * sizeof(s->file[0]));
}

/* File one read or written record.  0 or -ENOMEM. */
static int
entry_file(struct tale_store *s, struct store_file *f, uint64_t offset,
    uint32_t packed, const struct tale_summary *summary)
{
	struct store_entry *e = calloc(1, sizeof(*e)), *old;

	if (e == NULL)
		return -ENOMEM;
	e->file = f->number;
	e->offset = offset;
	e->packed = packed;
	e->summary = *summary;
	e->summary.earlier_boot = f->earlier_boot;
	old = store_index_same(&s->index, summary);
	if (old != NULL)
		entry_forget(s, old);
	while (s->index.count >= s->keep) {
		entry_forget(s, store_index_oldest(&s->index));
		s->dropped++;
	}
	store_index_add(&s->index, e);
	f->tales++;
	return 0;
}

/* The records of a file's bytes.  0 or -ENOMEM. */
static int
file_index(struct tale_store *s, struct store_file *f, const uint8_t *text,
    size_t length)
{
	size_t at = sizeof(struct store_header);
	bool lost = false;

	while (at < length) {
		struct tale_summary summary = {0};
		struct record_header h;
		const uint8_t *packed = text + at + sizeof(h);
		int err = -EPROTO;

		if (record_at(text + at, length - at, &h))
			err = tale_unpack(NULL, &summary, packed, h.packed);
		if (err == 0)
			err = entry_file(
			    s, f, at + sizeof(h), h.packed, &summary);
		if (err == -ENOMEM)
			return err;
		/* One place, however many bytes of it: counted once. */
		s->corrupt += err < 0 && !lost;
		lost = err < 0;
		f->clean &= err == 0;
		at += err == 0 ? h.bytes : 8;
	}
	return 0;
}

/* Take a file of the directory in.  0 (also if it is of no use) or errno. */
static int
store_read_file(struct tale_store *s, uint64_t number)
{
	struct store_file *f;
	uint8_t *text = NULL;
	size_t length = 0;
	int err;

	if (s->files == FILES_MAX)
		file_drop_oldest(s);
	f = &s->file[s->files];
	err = store_file_open(f, s->directory, number, SUFFIX, s->bytes_max,
	    s->boot_id, &text, &length);
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	s->corrupt += err < 0 || length == 0;
	if (err < 0)
		return 0;
	s->files++;
	s->bytes += f->bytes;
	f->clean &= length == f->bytes;
	err = file_index(s, f, text, length);
	free(text);
	return err;
}

/* Make, open and lock the directory.  0 or a negative errno. */
static int
directory_open(struct tale_store *s, const char *path)
{
	struct stat st;
	int err = rundir_make(path, 0700);

	if (err < 0)
		return err;
	s->directory =
	    open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->directory < 0 || fstat(s->directory, &st) < 0)
		return -errno;
	/* Requests may hold secrets: only this user may read them. */
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & 077) != 0 && fchmod(s->directory, 0700) < 0)
		return -errno;
	s->lock = openat(s->directory, "lock",
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (s->lock < 0)
		return -errno;
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

/* One more file; the bound may have become smaller. */
static int
take_file(void *user, uint64_t number)
{
	struct tale_store *s = user;
	int err = store_read_file(s, number);

	s->next_file = number + 1;
	while (s->bytes > s->bytes_max && s->files > 1)
		file_drop_oldest(s);
	return err;
}

int
tale_store_open(
    struct tale_store **out, const struct tale_store_options *options)
{
	struct tale_store *s;
	int err;

	if (options->bytes_max < BYTES_MIN || options->keep == 0 ||
	    options->keep > KEEP_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->directory = s->lock = -1;
	s->bytes_max = options->bytes_max;
	s->keep = options->keep;
	strncpy(s->boot_id, options->boot_id, sizeof(s->boot_id) - 1);
	err = store_index_init(&s->index, s->keep);
	if (err == 0 && options->directory != NULL) {
		err = directory_open(s, options->directory);
		if (err == 0)
			err =
			    store_file_each(s->directory, SUFFIX, take_file, s);
	}
	if (err < 0)
		tale_store_close(&s);
	else
		*out = s;
	return err;
}

void
tale_store_close(struct tale_store **sp)
{
	struct tale_store *s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	store_index_fini(&s->index);
	for (unsigned i = 0; i < s->files; i++)
		close(s->file[i].fd);
	if (s->lock >= 0)
		close(s->lock);
	if (s->directory >= 0)
		close(s->directory);
	free(s);
}

/* The file to append so many bytes to.  0 or a negative errno. */
static int
store_room(struct tale_store *s, size_t bytes, struct store_file **out)
{
	struct store_file *f = s->files > 0 ? &s->file[s->files - 1] : NULL;
	size_t need = bytes;
	int err;

	if (f != NULL && (!f->clean || (f->bytes + bytes > s->bytes_max / 16 &&
					   f->tales > 0)))
		f = NULL;
	if (f == NULL)
		need += sizeof(struct store_header);
	while (s->files > (f != NULL) &&
	       (s->bytes + need > s->bytes_max ||
		   (f == NULL && s->files == FILES_MAX))) {
		file_drop_oldest(s);
		if (f != NULL)
			f--;
	}
	if (f == NULL) {
		f = &s->file[s->files];
		err = store_file_make(
		    f, s->directory, s->next_file, SUFFIX, s->boot_id);
		if (err < 0)
			return err;
		s->next_file++;
		s->files++;
		s->bytes += f->bytes;
	}
	*out = f;
	return 0;
}

/* A whole record of a tale, to be freed.  0, -EFBIG or -ENOMEM. */
static int
record_make(const struct tale_store *s, const struct tale *t,
    const struct tale_summary *summary, struct packed *out)
{
	struct record_header h = {0};
	size_t bytes;
	uint8_t *grown;
	int err;

	out->length = sizeof(h);
	out->at = malloc(out->length);
	if (out->at == NULL)
		return -ENOMEM;
	err = tale_pack(out, t, summary);
	if (err < 0)
		return err;
	bytes = (out->length + 7) & ~(size_t)7;
	if (bytes > s->bytes_max / 4)
		return -EFBIG;
	grown = realloc(out->at, bytes);
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + out->length, 0, bytes - out->length);
	memcpy(grown, &h, sizeof(h));
	record_seal((struct record_header *)(void *)grown, (uint32_t)bytes,
	    (uint32_t)(out->length - sizeof(h)));
	out->at = grown;
	out->length = bytes;
	return 0;
}

int
tale_store_add(struct tale_store *s, const struct tale *t,
    const struct tale_summary *summary)
{
	struct tale_summary full = *summary;
	struct packed record = {0};
	struct record_header h;
	struct store_file *f;
	uint64_t offset;
	int err;

	tale_summarise(&full, &t->request);
	err = record_make(s, t, &full, &record);
	if (err == 0)
		err = store_room(s, record.length, &f);
	if (err < 0)
		goto free_record;
	offset = f->bytes + sizeof(h);
	memcpy(&h, record.at, sizeof(h));
	err = store_file_append(f, record.at, record.length);
	if (err < 0)
		goto free_record;
	s->bytes += record.length;
	err = entry_file(s, f, offset, h.packed, &full);
	s->added += err == 0;

free_record:
	free(record.at);
	return err;
}

const struct tale_summary *
tale_store_find(const struct tale_store *s, const char *external_id)
{
	const struct store_entry *e = store_index_find(&s->index, external_id);

	return e != NULL ? &e->summary : NULL;
}

/* As tale_store_load. */
static int
entry_load(struct tale_store *s, const struct store_entry *e, struct tale **out)
{
	struct store_file *f = file_numbered(s, e->file);
	struct tale_summary stored = {0};
	uint8_t *bytes;
	ssize_t n;
	int err;

	bytes = malloc(e->packed + 1);
	if (bytes == NULL)
		return -ENOMEM;
	do
		n = pread(f->fd, bytes, e->packed, (off_t)e->offset);
	while (n < 0 && errno == EINTR);
	err = n < 0 ? -errno : -EPROTO;
	if (n == (ssize_t)e->packed)
		err = tale_unpack(out, &stored, bytes, e->packed);
	/* The file was changed since it was indexed. */
	if (err == 0 && stored.request != e->summary.request) {
		tale_free(out);
		err = -EPROTO;
	}
	free(bytes);
	s->corrupt += err == -EPROTO;
	return err;
}

int
tale_store_load(
    struct tale_store *s, const char *external_id, struct tale **out)
{
	struct store_entry *e = store_index_find(&s->index, external_id);

	return e == NULL ? -ENOENT : entry_load(s, e, out);
}

int
tale_store_move(struct tale_store *from, struct tale_store *to)
{
	struct store_entry *e;

	while ((e = store_index_oldest(&from->index)) != NULL) {
		struct tale *t = NULL;
		int err = entry_load(from, e, &t);
		bool read = t != NULL;

		if (read)
			err = tale_store_add(to, t, &e->summary);
		tale_free(&t);
		if (err < 0 && (read || err == -ENOMEM))
			return err;
		from->added -= read; /* it is the other one's now */
		from->dropped += !read;
		entry_forget(from, e);
	}
	return 0;
}

/* The target up to its query is that path. */
static bool
path_is(const char *target, const char *path)
{
	size_t n = strcspn(target, "?");

	return strlen(path) == n && memcmp(target, path, n) == 0;
}

const struct tale_summary *
tale_store_next(
    const struct tale_store *s, const struct tale_filter *filter, unsigned *at)
{
	const struct store_index *x = &s->index;

	while (*at < x->last - x->first) {
		const struct store_entry *e = x->entry[x->last - 1 - (*at)++];

		if (e == NULL ||
		    e->summary.finished_wall_ns < filter->since_wall_ns ||
		    (filter->cause >= 0 &&
			(int)e->summary.cause != filter->cause) ||
		    (filter->path != NULL &&
			!path_is(e->summary.target, filter->path)))
			continue;
		return &e->summary;
	}
	return NULL;
}

void
tale_store_stats(const struct tale_store *s, struct tale_store_stats *out)
{
	*out = (struct tale_store_stats){
	    .tales = s->index.count,
	    .files = s->files,
	    .bytes = s->bytes,
	    .added = s->added,
	    .dropped = s->dropped,
	    .corrupt = s->corrupt,
	};
}
