/*
 * Goal: the store keeps what it is given, drops the oldest at its bounds, and
 * whatever happens to its files costs only the records it happened to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/talechain/scene.h"
#include "talechain/pack.h"
#include "talechain/store.h"
#include "talechain/store_record.h"
#include "talechain/tale.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define OTHER_BOOT "99999999-2222-3333-4444-555555555555"
#define TALES_MAX 4096

static char directory[64];

static int
setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/tailor-store-XXXXXX");
	return mkdtemp(directory) != NULL ? 0 : -1;
}

/* Call with the path of each file of the store. */
static unsigned
each_file(void (*call)(const char *path))
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	char path[400];
	unsigned n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		if (strstr(entry->d_name, ".tales") == NULL)
			continue;
		n++;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (call != NULL)
			call(path);
	}
	closedir(d);
	return n;
}

static void
remove_file(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static int
teardown(void **state)
{
	char path[80];

	(void)state;
	each_file(remove_file);
	snprintf(path, sizeof(path), "%s/lock", directory);
	unlink(path);
	return rmdir(directory);
}

static struct tale_store *
open_store(uint64_t bytes_max, unsigned keep)
{
	struct tale_store_options o = {
	    .directory = directory,
	    .boot_id = BOOT,
	    .bytes_max = bytes_max,
	    .keep = keep,
	};
	struct tale_store *s = NULL;

	assert_int_equal(tale_store_open(&s, &o), 0);
	return s;
}

/* A tale whose content is a function of number and version alone. */
static struct tale *
make_tale(unsigned number, unsigned version, unsigned events)
{
	struct tale *t = calloc(1, sizeof(*t));
	struct tale_request *r = &t->request;

	assert_non_null(t);
	scene_request(r);
	r->id = 0x5eed0000 + number;
	snprintf(r->external_id, sizeof(r->external_id), "id-%u", number);
	snprintf(
	    r->target, sizeof(r->target), "/p%u?v=%u", number % 3, version);
	r->attempt[0] = (struct tale_attempt){.server = 0,
	    .server_name = "north",
	    .trigger = "first",
	    .outcome = "lost",
	    .written = scene_at(10 * US)};
	r->attempt[1] = (struct tale_attempt){.server = 1,
	    .server_name = "south",
	    .trigger = "gc",
	    .outcome = "won",
	    .status = 200,
	    .cookie = UINT64_MAX,
	    .written = scene_at(20 * US),
	    .complete = scene_at(500 * US)};
	t->entry = calloc(events + 1, sizeof(t->entry[0]));
	for (unsigned i = 0; i < events; i++) {
		struct tale_entry *e = &t->entry[i];

		e->slot.seq = 2 * i + 2;
		e->slot.server = i % 3 == 0 ? -1 : (int)(i % 3) - 1;
		e->slot.event.ts = scene_at((int64_t)i * US).ns;
		e->slot.read_ns = e->slot.event.ts + number % 977;
		e->slot.event.type = i % 2 ? TALECHAIN_APP_MARK : 0xbeef;
		e->slot.event.cpu = UINT32_MAX;
		e->slot.event.arg[0] = (uint64_t)number << 33;
		e->slot.event.arg[3] = UINT64_MAX - version;
		e->at.ns = e->slot.event.ts;
	}
	t->entries = t->capacity = events;
	tale_bounds_set(t);
	return t;
}

static void
make_summary(struct tale_summary *s, unsigned number)
{
	*s = (struct tale_summary){
	    .finished_wall_ns = 1000000000LL * number,
	    .reason = TALE_REASON_TARGET,
	    .cause = (enum tale_cause)(number % TALE_CAUSE_COUNT),
	    .share_ns = number,
	};
	snprintf(s->verdict, sizeof(s->verdict), "verdict of %u", number);
}

static int
add(struct tale_store *s, unsigned number, unsigned version, unsigned events)
{
	struct tale *t = make_tale(number, version, events);
	struct tale_summary said;
	int err;

	make_summary(&said, number);
	err = tale_store_add(s, t, &said);
	tale_free(&t);
	return err;
}

/* What the store gives back is what was put in, to the last byte. */
static void
assert_whole(
    struct tale_store *s, unsigned number, unsigned version, unsigned events)
{
	struct tale *expected = make_tale(number, version, events), *got;
	const struct tale_summary *found;
	struct tale_summary said;
	struct packed a = {0}, b = {0};
	char id[32];

	snprintf(id, sizeof(id), "id-%u", number);
	found = tale_store_find(s, id);
	assert_non_null(found);
	make_summary(&said, number);
	tale_summarise(&said, &expected->request);
	said.earlier_boot = found->earlier_boot;
	assert_memory_equal(found->verdict, said.verdict, strlen(said.verdict));
	assert_string_equal(found->target, said.target);
	assert_string_equal(found->winner, "south");
	assert_string_equal(found->trigger, "gc");
	assert_int_equal(found->upstream_ns, 480 * US);
	assert_int_equal(found->cause, said.cause);
	assert_int_equal(found->finished_wall_ns, said.finished_wall_ns);
	assert_int_equal(tale_store_load(s, id, &got), 0);
	assert_int_equal(tale_pack(&a, expected, &said), 0);
	assert_int_equal(tale_pack(&b, got, &said), 0);
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.at, b.at, a.length);
	assert_int_equal(got->t0.ns, expected->t0.ns);
	assert_int_equal(got->end.ns, expected->end.ns);
	free(a.at);
	free(b.at);
	tale_free(&expected);
	tale_free(&got);
}

static unsigned
count(const struct tale_store *s)
{
	struct tale_store_stats stats;

	tale_store_stats(s, &stats);
	return stats.tales;
}

static unsigned
dice(unsigned sides)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x % sides);
}

/* --- model: what should be there ------------------------------------------- */

struct model {
	struct {
		unsigned number, version, events;
	} tale[TALES_MAX];
	unsigned count; /* oldest first */
};

static void
model_add(struct model *m, unsigned number, unsigned version, unsigned events)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->tale[i].number == number) {
			memmove(&m->tale[i], &m->tale[i + 1],
			    (m->count - i - 1) * sizeof(m->tale[0]));
			m->count--;
			break;
		}
	m->tale[m->count].number = number;
	m->tale[m->count].version = version;
	m->tale[m->count++].events = events;
}

static void
model_drop_oldest(struct model *m, unsigned n)
{
	assert_true(n <= m->count);
	m->count -= n;
	memmove(&m->tale[0], &m->tale[n], m->count * sizeof(m->tale[0]));
}

/* The store holds exactly the model's newest, in its order, whole. */
static void
assert_same(struct tale_store *s, struct model *m)
{
	struct tale_wanted all = {.cause = -1};
	const struct tale_summary *said;
	unsigned at = 0, i = m->count;

	while ((said = tale_store_next(s, &all, &at)) != NULL) {
		assert_true(i > 0);
		i--;
		assert_int_equal(said->request, 0x5eed0000 + m->tale[i].number);
		assert_whole(s, m->tale[i].number, m->tale[i].version,
		    m->tale[i].events);
	}
	assert_int_equal(i, 0);
}

static void
test_against_model(void **state)
{
	const unsigned keep = 40;
	struct model m = {0};
	struct tale_store *s = open_store(64 << 10, keep);
	struct tale_store_stats before, after;

	(void)state;
	for (unsigned turn = 0; turn < 3000; turn++) {
		unsigned number = dice(60), events = dice(60);

		if (dice(25) == 0) {
			tale_store_close(&s);
			s = open_store(64 << 10, keep);
			assert_same(s, &m);
		}
		tale_store_stats(s, &before);
		assert_int_equal(add(s, number, turn, events), 0);
		tale_store_stats(s, &after);
		assert_true(after.bytes <= 64 << 10);
		model_add(&m, number, turn, events);
		/* Which go is by files: but always the oldest, and counted. */
		assert_true(
		    m.count - count(s) <= after.dropped - before.dropped);
		model_drop_oldest(&m, m.count - count(s));
		assert_true(m.count > 0 && m.count <= keep);
	}
	assert_same(s, &m);
	tale_store_close(&s);
}

static void
test_memory_only(void **state)
{
	struct tale_store_options o = {
	    .boot_id = BOOT, .bytes_max = 32 << 10, .keep = 10};
	struct tale_store *s;

	(void)state;
	assert_int_equal(tale_store_open(&s, &o), 0);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(add(s, i, 0, 20), 0);
	assert_int_equal(count(s), 10);
	assert_whole(s, 199, 0, 20);
	assert_null(tale_store_find(s, "id-189"));
	tale_store_close(&s);
	assert_int_equal(each_file(NULL), 0);
}

/* --- damage ------------------------------------------------------------------ */

static char only[400];

static void
note_file(const char *path)
{
	snprintf(only, sizeof(only), "%s", path);
}

static void
test_cut_at_every_byte(void **state)
{
	uint8_t whole[8192];
	size_t length, at = sizeof(struct store_header);
	struct record_header h;
	struct tale_store *s = open_store(1 << 20, 100);
	FILE *f;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(add(s, i, 0, 3), 0);
	tale_store_close(&s);
	assert_int_equal(each_file(note_file), 1);
	f = fopen(only, "rb");
	length = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	assert_true(length < sizeof(whole));
	for (size_t cut = 0, good = 0; cut <= length; cut++) {
		if (cut > at && record_at(whole + at, cut - at, &h)) {
			at += h.bytes;
			good++;
		}
		each_file(remove_file);
		f = fopen(only, "wb");
		fwrite(whole, 1, cut, f);
		fclose(f);
		s = open_store(1 << 20, 100);
		assert_int_equal(count(s), good);
		for (unsigned i = 0; i < good; i++)
			assert_whole(s, i, 0, 3);
		/* And it goes on from there. */
		assert_int_equal(add(s, 77, 1, 2), 0);
		tale_store_close(&s);
		s = open_store(1 << 20, 100);
		assert_int_equal(count(s), good + 1);
		assert_whole(s, 77, 1, 2);
		tale_store_close(&s);
	}
}

static void
damage(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR);
	uint8_t byte;
	off_t at;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	at = (off_t)(sizeof(struct store_header) +
		     dice((unsigned)(st.st_size -
				     (off_t)sizeof(struct store_header))));
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (uint8_t)(1 + dice(255));
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void
test_one_damaged_byte_costs_one_tale(void **state)
{
	struct tale_store *s;
	struct tale_store_stats stats;

	(void)state;
	for (unsigned turn = 0; turn < 300; turn++) {
		unsigned found = 0;
		char id[32];

		s = open_store(1 << 20, 100);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(add(s, i, turn, dice(9)), 0);
		tale_store_close(&s);
		each_file(damage);
		s = open_store(1 << 20, 100);
		tale_store_stats(s, &stats);
		assert_int_equal(stats.corrupt, 1);
		for (unsigned i = 0; i < 6; i++) {
			snprintf(id, sizeof(id), "id-%u", i);
			found += tale_store_find(s, id) != NULL;
		}
		assert_int_equal(found, 5);
		tale_store_close(&s);
		each_file(remove_file);
	}
}

static void
test_damage_while_open(void **state)
{
	struct tale_store *s = open_store(1 << 20, 100);
	struct tale *t = NULL;

	(void)state;
	assert_int_equal(add(s, 1, 0, 3), 0);
	assert_int_equal(each_file(note_file), 1);
	assert_int_equal(truncate(only, 100), 0);
	assert_int_equal(tale_store_load(s, "id-1", &t), -EPROTO);
	assert_null(t);
	assert_int_equal(tale_store_load(s, "id-2", &t), -ENOENT);
	tale_store_close(&s);
}

/* --- what else it promises ----------------------------------------------------- */

static void
test_earlier_boot(void **state)
{
	struct tale_store_options o = {.directory = directory,
	    .boot_id = OTHER_BOOT,
	    .bytes_max = 1 << 20,
	    .keep = 100};
	struct tale_store *s;

	(void)state;
	assert_int_equal(tale_store_open(&s, &o), 0);
	assert_int_equal(add(s, 1, 0, 3), 0);
	assert_false(tale_store_find(s, "id-1")->earlier_boot);
	tale_store_close(&s);
	s = open_store(1 << 20, 100);
	assert_true(tale_store_find(s, "id-1")->earlier_boot);
	assert_int_equal(add(s, 2, 0, 3), 0);
	assert_false(tale_store_find(s, "id-2")->earlier_boot);
	assert_whole(s, 1, 0, 3);
	tale_store_close(&s);
}

static void
test_same_external_id(void **state)
{
	struct tale_store *s = open_store(1 << 20, 100);
	struct tale *t = make_tale(1, 7, 2);
	struct tale_summary said;

	(void)state;
	assert_int_equal(add(s, 1, 0, 3), 0);
	/* Another request of the same name: both are kept, the newer found. */
	t->request.id++;
	make_summary(&said, 1);
	assert_int_equal(tale_store_add(s, t, &said), 0);
	assert_int_equal(count(s), 2);
	assert_string_equal(tale_store_find(s, "id-1")->target, "/p1?v=7");
	tale_free(&t);
	tale_store_close(&s);
}

static void
test_wanted(void **state)
{
	struct tale_store *s = open_store(1 << 20, 100);
	struct tale_wanted w = {.cause = 3};
	const struct tale_summary *said;
	unsigned at = 0, n = 0;

	(void)state;
	for (unsigned i = 0; i < 90; i++)
		assert_int_equal(add(s, i, 0, 0), 0);
	while ((said = tale_store_next(s, &w, &at)) != NULL) {
		assert_int_equal(said->cause, 3);
		n++;
	}
	assert_int_equal(n, (90 - 3 + TALE_CAUSE_COUNT - 1) / TALE_CAUSE_COUNT);
	w = (struct tale_wanted){
	    .cause = -1, .path = "/p1", .since_wall_ns = 60 * 1000000000LL};
	for (at = n = 0; tale_store_next(s, &w, &at) != NULL;)
		n++;
	assert_int_equal(n, 10);
	w.path = "/p";
	at = 0;
	assert_null(tale_store_next(s, &w, &at));
	tale_store_close(&s);
}

static void
test_bounds_and_modes(void **state)
{
	struct tale_store_options o = {.directory = directory,
	    .boot_id = BOOT,
	    .bytes_max = 8192,
	    .keep = 5};
	struct tale_store *s, *second = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(tale_store_open(&s, &o), 0);
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(tale_store_open(&second, &o), -EBUSY);
	assert_int_equal(add(s, 1, 0, 800), -EFBIG);
	assert_int_equal(add(s, 1, 0, 1), 0);
	each_file(note_file);
	assert_int_equal(stat(only, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	tale_store_close(&s);
	o.keep = 0;
	assert_int_equal(tale_store_open(&s, &o), -EINVAL);
	o.keep = 1;
	o.directory = "/proc/none/such";
	assert_int_equal(tale_store_open(&s, &o), -ENOENT);
}

static void
test_failing_write(void **state)
{
	int status;
	pid_t child = fork();

	/* In a child: limits on file sizes do not come back. */
	(void)state;
	if (child == 0) {
		struct tale_store *s = open_store(1 << 20, 100);
		int ok = add(s, 1, 0, 3) == 0;

		each_file(note_file);
		/* No descriptor can be written to any more. */
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){600, 600});
		ok &= add(s, 2, 0, 100) == -EFBIG;
		ok &= count(s) == 1;
		assert_whole(s, 1, 0, 3);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){600, 600});
		tale_store_close(&s);
		s = open_store(1 << 20, 100);
		ok &= count(s) == 1;
		tale_store_close(&s);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void
test_foreign_files(void **state)
{
	char path[400];
	struct tale_store *s;

	(void)state;
	snprintf(path, sizeof(path), "%s/%016d.tales", directory, 1);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/%016d.tales", directory, 2);
	assert_int_equal(symlink("/dev/zero", path), 0);
	snprintf(path, sizeof(path), "%s/%016d.tales", directory, 3);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	s = open_store(1 << 20, 100);
	assert_int_equal(count(s), 0);
	assert_int_equal(add(s, 1, 0, 3), 0);
	tale_store_close(&s);
	s = open_store(1 << 20, 100);
	assert_whole(s, 1, 0, 3);
	tale_store_close(&s);
}

static void
test_hostile_packed(void **state)
{
	struct tale *t = make_tale(1, 0, 12), *got;
	struct tale_summary said, read;
	struct packed p = {0};
	uint8_t *copy;

	(void)state;
	make_summary(&said, 1);
	assert_int_equal(tale_pack(&p, t, &said), 0);
	copy = malloc(p.length);
	for (unsigned turn = 0; turn < 20000; turn++) {
		size_t length =
		    dice(4) == 0 ? dice((unsigned)p.length + 1) : p.length;

		memcpy(copy, p.at, p.length);
		for (unsigned i = dice(4); i > 0; i--)
			copy[dice((unsigned)p.length)] = (uint8_t)dice(256);
		got = NULL;
		if (tale_unpack(&got, &read, copy, length) == 0) {
			assert_true(tale_total_ns(got) >= 0);
			for (size_t i = 1; i < got->entries; i++)
				assert_false(instant_before(
				    got->entry[i].at, got->entry[i - 1].at));
			tale_free(&got);
		}
		assert_null(got);
	}
	free(copy);
	free(p.at);
	tale_free(&t);
}

static void
test_crc(void **state)
{
	/* The check value of CRC-32C (RFC 3720, B.4 gives others). */
	(void)state;
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c("", 0), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_against_model),
	    TEST(test_memory_only),
	    TEST(test_cut_at_every_byte),
	    TEST(test_one_damaged_byte_costs_one_tale),
	    TEST(test_damage_while_open),
	    TEST(test_earlier_boot),
	    TEST(test_same_external_id),
	    TEST(test_wanted),
	    TEST(test_bounds_and_modes),
	    TEST(test_failing_write),
	    TEST(test_foreign_files),
	    TEST(test_hostile_packed),
	    TEST(test_crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
