/*
 * sweep.c: parsers, stores and renderings with each of their calls failing.
 *
 * A case does one thing from its beginning to its end and says whether it
 * succeeded.  It is done with its 1st call failing, with its 2nd, and so on
 * until none is left to fail, and again with all from the 1st on, from the
 * 2nd on, ...; each time it must come back, say 0 or a negative errno, and
 * leave nothing behind.  Speaks TAP.
 *
 * Usage: sweep ROOT [CASE...], ROOT being the tree's.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"
#include "proxy/net/message.h"
#include "proxy/client/peer.h"
#include "proxy/request/table.h"
#include "talechain/render/render.h"
#include "talechain/store/pack.h"
#include "talechain/store/store.h"
#include "talechain/tale/tale_struct.h"
#include "talechain/timeline/timeline.h"
#include "tests/faults/layer.h"
#include "tests/unit/talechain/samples.h"
#include "tests/unit/talechain/scenario.h"

#pragma weak __lsan_do_recoverable_leak_check
int __lsan_do_recoverable_leak_check(void);

#define BOOT "11111111-2222-3333-4444-555555555555"
#define ALLOC (UINT64_C(1) << FAULT_ALLOC)
#define FILES                                                     \
	(UINT64_C(1) << FAULT_WRITE | UINT64_C(1) << FAULT_READ | \
	    UINT64_C(1) << FAULT_OPEN)
#define EACH_MAX 20000 /* calls of a case; more is a loop without end */

static char directory[] = "/dev/shm/tailor-sweep-XXXXXX";
static struct scenario hedged;

static const char launching[] =
    "{\"listen\": [\"127.0.0.1:1\"], \"servers\": [{\"name\": \"a\","
    " \"address\": \"127.0.0.1:2\", \"launch\": {\"command\": [\"/bin/true\","
    " \"x\"], \"environment\": {\"A\": \"1\", \"B\": \"2\"}}}]}";

/* --- cases: 0 or a negative errno ----------------------------------------- */

static int
write_out(const struct config *c)
{
	struct json j;
	char *text;
	size_t length;
	int err;

	json_init(&j, true);
	config_write(c, &j);
	err = json_take(&j, &text, &length);
	if (err == 0)
		free(text);
	json_fini(&j);
	return err;
}

static void
on_difference(void *user, const char *path, bool restart)
{
	(void)path;
	*(unsigned *)user += restart;
}

static int
case_config(void)
{
	struct config_errors errors = {0};
	struct config *c = NULL, *other = NULL;
	unsigned differences = 0;
	int err;

	err = config_load(&c, "examples/tailor.json", true, &errors);
	if (err == 0)
		err = config_set(c, "servers[0].name", "other", &errors);
	if (err == 0)
		err = config_check(c, &errors);
	if (err == 0)
		err = write_out(c);
	if (err == 0)
		err = config_new(&other);
	if (err == 0)
		err = config_compare(c, other, on_difference, &differences);
	config_free(&c);
	config_free(&other);
	config_errors_fini(&errors);
	return err;
}

/* All of its errors are reported, or that there was no memory for that. */
static int
case_config_errors(void)
{
	static const char text[] =
	    "{\"listne\": 3, \"proxy\": {\"body_max\": -1, \"via\": 2},\n"
	    " \"servers\": [{\"address\": \"x\"}, 5, {}, {}],\n"
	    " \"hedging\": {\"mode\": \"wach\", \"repeatable\": [1, \"x y "
	    "z\"]}}";
	struct config_errors errors = {0};
	struct config *c = NULL;
	int err;

	err = config_parse(&c, text, sizeof(text) - 1, "t", &errors);
	assert_null(c);
	assert_true(err == -EINVAL || err == -ENOMEM);
	config_errors_fini(&errors);
	return err == -EINVAL ? 0 : err;
}

/* More errors than are reported, and then a list that is right. */
static int
case_config_lists(void)
{
	struct config_errors errors = {0};
	struct config *c = NULL;
	char text[2048] = "{";
	size_t n = 1;
	int err;

	for (int i = 0; i < 110; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "%s\"none%d\": 1", i > 0 ? ", " : "", i);
	text[n++] = '}';
	err = config_parse(&c, text, n, "t", &errors);
	assert_true(err == -EINVAL || err == -ENOMEM);
	assert_null(c);
	config_errors_fini(&errors);
	if (err == -EINVAL)
		err = config_parse(
		    &c, launching, sizeof(launching) - 1, "t", &errors);
	assert_true(err == 0 || err == -EINVAL || err == -ENOMEM);
	config_free(&c);
	config_errors_fini(&errors);
	return err == -EINVAL ? -ENOMEM : err;
}

static int
case_manual(void)
{
	char *text = NULL;
	size_t length;
	int err = config_write_manual(&text, &length);

	if (err == 0)
		free(text);
	return err;
}

/* A tale is sliced, packed, unpacked, explained, and explained again. */
static int
case_tale(void)
{
	struct tale *t = NULL, *copy = NULL;
	struct packed packed = {0};
	int err;

	err = tale_slice(&t, hedged.scene.reader, &hedged.request, NULL, 1000);
	if (err == 0)
		err = tale_pack(&packed, t);
	if (err == 0)
		err = tale_unpack(&copy, packed.at, packed.length);
	free(packed.at);
	tale_free(&t);
	tale_free(&copy);
	return err;
}

static int
render(
    const struct story *s, int (*how)(const struct story *, char **, size_t *))
{
	char *text = NULL;
	size_t length = 0;
	int err = how(s, &text, &length);

	if (err == 0)
		free(text);
	return err;
}

static int
render_json(const struct story *s, char **text, size_t *length)
{
	struct json j;
	int err;

	json_init(&j, false);
	err = story_render_json(s, &j);
	if (err == 0)
		err = json_take(&j, text, length);
	json_fini(&j);
	return err;
}

static int
render_all(const struct story *s)
{
	int err = render(s, story_render_text);

	if (err == 0)
		err = render(s, render_json);
	if (err == 0)
		err = render(s, story_render_html);
	if (err == 0)
		err = render(s, story_render_svg);
	if (err == 0)
		err = render(s, story_render_chrome);
	return err;
}

static int
case_explained(void)
{
	struct story *s = NULL;
	int err = tale_explain(&s, hedged.tale);

	if (err == 0)
		err = render_all(s);
	story_free(&s);
	return err;
}

static int
case_render(void)
{
	static struct sample *sample;

	if (sample == NULL)
		sample = sample_new("many");
	return render_all(&sample->story);
}

static bool
take(void *user, const struct tale_summary *one)
{
	(void)user;
	return one->verdict[0] == '\0';
}

static int
store_some(const char *where)
{
	struct tale_store_options o = {.directory = where,
	    .boot_id = BOOT,
	    .bytes_max = 1 << 20,
	    .keep = 8};
	struct tale_summary summary = {0};
	struct tale_store *s = NULL;
	struct tale *loaded = NULL;
	int err = tale_store_open(&s, &o);

	if (err < 0)
		return err;
	tale_summarise(&summary, tale_request(hedged.tale));
	for (int i = 0; err == 0 && i < 12; i++)
		err = tale_store_add(s, hedged.tale, &summary);
	if (err == 0)
		err = tale_store_load(
		    s, tale_request(hedged.tale)->external_id, &loaded);
	tale_free(&loaded);
	if (err == 0)
		err = tale_store_each(
		    s, &(struct tale_filter){.cause = -1}, take, NULL);
	tale_store_close(&s);
	return err;
}

/* A call that fails is no reason to put the file aside. */
static int
case_store(void)
{
	char path[64];
	int err = store_some(directory);

	snprintf(path, sizeof(path), "%s/tales.db.damaged", directory);
	return access(path, F_OK) == 0 ? 1 : err;
}

static int
case_store_in_memory(void)
{
	return store_some(NULL);
}

static int
case_timeline(void)
{
	struct timeline_reader *reader = NULL;
	struct timeline *t = NULL;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "%s/stream", directory);
	err = timeline_new(&t, path, 10);
	if (err == 0)
		err = timeline_reader_open(&reader, path);
	timeline_reader_close(&reader);
	timeline_free(&t);
	return err;
}

static int
case_tables(void)
{
	struct request_table table = {0};
	struct peer_table peers = {0};
	struct peer peer = {.key = {1, 2}};
	struct request *r;
	int err = table_init(&table, 16);

	if (err < 0)
		return err;
	r = table_add(&table, 4);
	if (r != NULL)
		table_remove(&table, r);
	err = peer_table_init(&peers, 100);
	if (err == 0)
		peer_leave(&peers, peer_enter(&peers, &peer));
	peer_table_fini(&peers);
	table_fini(&table);
	return r == NULL ? -ENOMEM : err;
}

/* A request that is half written when it is no longer wanted. */
static int
case_outgoing(void)
{
	char head[] = "GET / HTTP/1.1\r\n\r\n";
	struct message o = {.head = {{head, sizeof(head) - 1}}};
	bool kept = message_keep_rest(&o);

	message_fini(&o);
	return kept ? 0 : -ENOMEM;
}

static const struct {
	const char *name;
	uint64_t kinds;
	int (*run)(void);
} cases[] = {
    {"config", ALLOC | FILES, case_config},
    {"config_errors", ALLOC, case_config_errors},
    {"config_lists", ALLOC, case_config_lists},
    {"manual", ALLOC, case_manual},
    {"tale", ALLOC, case_tale},
    {"explained", ALLOC, case_explained},
    {"render", ALLOC, case_render},
    {"store", ALLOC | FILES, case_store},
    {"store_in_memory", ALLOC | FILES, case_store_in_memory},
    {"timeline", ALLOC | FILES, case_timeline},
    {"tables", ALLOC, case_tables},
    {"outgoing", ALLOC, case_outgoing},
};

/* --- the sweep ------------------------------------------------------------ */

static bool
leaks(void)
{
	return __lsan_do_recoverable_leak_check != NULL &&
	       __lsan_do_recoverable_leak_check() != 0;
}

static void
directory_clear(void)
{
	DIR *d = opendir(directory);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL)
		unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
}

/* NULL, or what was wrong; each time so many in a row fail. */
static const char *
sweep(uint64_t kinds, uint64_t in_a_row, int (*run)(void), unsigned *calls)
{
	int err;

	*calls = 0;
	fault_arm(0, 0, 0);
	err = run();
	if (err != 0)
		return strerror(-err);
	for (*calls = 0; *calls < EACH_MAX; ++*calls) {
		uint64_t before = fault_failed();

		directory_clear();
		fault_arm(kinds, *calls, in_a_row);
		err = run();
		fault_arm(0, 0, 0);
		if (err > 0)
			return "neither 0 nor a negative errno";
		if (fault_failed() == before)
			break;
	}
	if (*calls == 0 || *calls == EACH_MAX)
		return "no call, or no end";
	if (run() != 0)
		return "fails after the faults";
	return leaks() ? "leaks" : NULL;
}

int
main(int argc, char **argv)
{
	unsigned n = sizeof(cases) / sizeof(cases[0]), calls, failed = 0;

	if (argc != 2 || mkdtemp(directory) == NULL) {
		fprintf(stderr, "usage: sweep ROOT\n");
		return 2;
	}
	if (chdir(argv[1]) < 0) {
		perror(argv[1]);
		return 2;
	}
	scenario_told(&hedged, "hedged");
	printf("1..%u\n", n);
	for (unsigned i = 0; i < n; i++) {
		const char *wrong =
		    sweep(cases[i].kinds, 1, cases[i].run, &calls);

		if (wrong == NULL)
			wrong = sweep(
			    cases[i].kinds, UINT64_MAX, cases[i].run, &calls);
		if (wrong != NULL)
			printf("# at call %u: %s\n", calls + 1, wrong);
		printf("%s %u - sweep %s\n# %u calls failed\n",
		    wrong != NULL ? "not ok" : "ok", i + 1, cases[i].name,
		    calls);
		fflush(stdout);
		failed += wrong != NULL;
	}
	scenario_close(&hedged);
	directory_clear();
	rmdir(directory);
	return failed > 0;
}
