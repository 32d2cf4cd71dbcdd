/* depot.c: see the header. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "talechain/explain/tale_struct.h"
#include "talechain/store/pack.h"
#include "talechain/store/record.h"
#include "talechain/store/store.h"
#include "tests/unit/talechain/depot.h"
#include "tests/unit/talechain/scene.h"

char depot_directory[64];
char depot_noted[400];

int
depot_setup(void **state)
{
	(void)state;
	strcpy(depot_directory, "/tmp/tailor-store-XXXXXX");
	return mkdtemp(depot_directory) != NULL ? 0 : -1;
}

unsigned
depot_each_file(void (*call)(const char *path))
{
	DIR *d = opendir(depot_directory);
	struct dirent *entry;
	char path[400];
	unsigned n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		if (strstr(entry->d_name, ".tales") == NULL)
			continue;
		n++;
		snprintf(path, sizeof(path), "%s/%s", depot_directory,
		    entry->d_name);
		if (call != NULL)
			call(path);
	}
	closedir(d);
	return n;
}

void
depot_remove_file(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

int
depot_teardown(void **state)
{
	char path[80];

	(void)state;
	depot_each_file(depot_remove_file);
	snprintf(path, sizeof(path), "%s/lock", depot_directory);
	unlink(path);
	return rmdir(depot_directory);
}

void
depot_note_file(const char *path)
{
	snprintf(depot_noted, sizeof(depot_noted), "%s", path);
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
	const struct tale_summary *found;
	struct tale_summary said;
	struct packed a = {0}, b = {0};
	char id[32];

	snprintf(id, sizeof(id), "id-%u", number);
	found = tale_store_find(s, id);
	assert_non_null(found);
	depot_summary(&said, number);
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

unsigned
depot_count(const struct tale_store *s)
{
	struct tale_store_stats stats;

	tale_store_stats(s, &stats);
	return stats.tales;
}

unsigned
depot_dice(unsigned sides)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x % sides);
}
