/* depot.c: see the header. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "tests/unit/unit.h"

#include "talechain/tale/tale_struct.h"
#include "talechain/store/pack.h"
#include "talechain/store/store.h"
#include "tests/unit/talechain/depot.h"
#include "tests/unit/talechain/scene.h"

char depot_directory[64];

int
depot_setup(void **state)
{
	(void)state;
	strcpy(depot_directory, "/dev/shm/tailor-store-XXXXXX");
	return mkdtemp(depot_directory) != NULL ? 0 : -1;
}

const char *
depot_path(const char *name)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s", depot_directory, name);
	return path;
}

void
depot_empty(void)
{
	DIR *d = opendir(depot_directory);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			assert_int_equal(remove(depot_path(e->d_name)), 0);
	closedir(d);
}

void
depot_sql(const char *name, const char *statements)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(depot_path(name), &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

int
depot_teardown(void **state)
{
	(void)state;
	depot_empty();
	return rmdir(depot_directory);
}

struct tale_store *
depot_open(uint64_t bytes_max, unsigned keep)
{
	struct tale_store_options o = {
	    .directory = depot_directory,
	    .boot_id = BOOT,
	    .bytes_max = bytes_max,
	    .keep = keep,
	};
	struct tale_store *s = NULL;

	assert_int_equal(tale_store_open(&s, &o), 0);
	return s;
}

struct tale *
depot_tale(unsigned number, unsigned version, unsigned events)
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

void
depot_summary(struct tale_summary *s, unsigned number)
{
	*s = (struct tale_summary){
	    .finished_wall_ns = 1000000000LL * number,
	    .reason = TALE_REASON_TARGET,
	    .cause = (enum tale_cause)(number % TALE_CAUSE_COUNT),
	    .share_ns = number,
	};
	snprintf(s->verdict, sizeof(s->verdict), "verdict of %u", number);
}

int
depot_add(
    struct tale_store *s, unsigned number, unsigned version, unsigned events)
{
	struct tale *t = depot_tale(number, version, events);
	struct tale_summary said;
	int err;

	depot_summary(&said, number);
	err = tale_store_add(s, t, &said);
	tale_free(&t);
	return err;
}

void
depot_assert_whole(
    struct tale_store *s, unsigned number, unsigned version, unsigned events)
{
	struct tale *expected = depot_tale(number, version, events), *got;
	struct tale_summary said, found;
	struct packed a = {0}, b = {0};
	char id[32];

	snprintf(id, sizeof(id), "id-%u", number);
	assert_int_equal(tale_store_find(s, id, &found), 0);
	depot_summary(&said, number);
	tale_summarise(&said, &expected->request);
	said.earlier_boot = found.earlier_boot;
	assert_memory_equal(found.verdict, said.verdict, strlen(said.verdict));
	assert_string_equal(found.target, said.target);
	assert_string_equal(found.winner, "south");
	assert_string_equal(found.trigger, "gc");
	assert_int_equal(found.upstream_ns, 480 * US);
	assert_int_equal(found.cause, said.cause);
	assert_int_equal(found.finished_wall_ns, said.finished_wall_ns);
	assert_int_equal(tale_store_load(s, id, &got), 0);
	assert_int_equal(tale_pack(&a, expected), 0);
	assert_int_equal(tale_pack(&b, got), 0);
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.at, b.at, a.length);
	assert_int_equal(got->t0.ns, expected->t0.ns);
	assert_int_equal(got->end.ns, expected->end.ns);
	free(a.at);
	free(b.at);
	tale_free(&expected);
	tale_free(&got);
}

unsigned
depot_count(struct tale_store *s)
{
	struct tale_store_stats stats;

	tale_store_stats(s, &stats);
	return stats.tales;
}
