/* Goal: what is written reads back the same, for any value of any key. */
#include "tests/unit/unit.h"

#include <errno.h>

#include "config/keys.h"
#include "tests/unit/config/helper.h"

static unsigned
roll(unsigned n)
{
	return (unsigned)unit_draw(n);
}

/* A number in the key's range, often one of its ends. */
static void
random_quantity(const struct config_key *key, char *out, size_t size)
{
	double span = key->max - key->min;
	double v =
	    key->min + span * ((double)unit_draw(UINT32_MAX) / UINT32_MAX);

	if (roll(4) == 0)
		v = roll(2) ? key->min : key->max;
	if (key->power_of_two)
		for (v = key->min; v * 2 <= key->max && roll(8) > 0;)
			v *= 2;
	if (key->type == KEY_RATIO)
		snprintf(out, size, "%.17f", v); /* no exponent */
	else
		snprintf(out, size, "%llu%s", (unsigned long long)v,
		    key->type == KEY_DURATION ? "ns" : "");
}

static void
random_choices(const struct config_key *key, char *out, size_t size)
{
	unsigned n = 0, picked;

	while (key->choices[n].name != NULL)
		n++;
	if (key->type == KEY_CHOICE) {
		picked = roll(n);
		snprintf(out, size, "%s%s", key->choices[picked].name,
		    !key_takes_argument(key, &key->choices[picked]) ? ""
		    : roll(2)					    ? ""
		    : key->unit != NULL				    ? ":77us"
					: ":/a b/\"c");
		return;
	}
	picked = roll(1u << n);
	out[0] = '\0';
	for (unsigned i = 0; i < n; i++)
		if (picked >> i & 1)
			snprintf(out + strlen(out), size - strlen(out), "%s,",
			    key->choices[i].name);
}

/* Two values that are not the default, for types that are not numbers. */
static const char *const samples[][2] = {
    [KEY_BOOL] = {"true", "false"},
    [KEY_NAME] = {"X-1._z", "yy"},
    [KEY_NAME_OR_NONE] = {"x.sock", "-"},
    [KEY_TARGET] = {"/a?b=\"<c>\"", "/"},
    [KEY_HOST] = {"[::1]:80", "a-b.c"},
    [KEY_PATH] = {"/x \xc3\xa9 y", "/\"\\"},
    [KEY_TEXT] = {"&</script>", "a/b"},
    [KEY_CPU] = {"none", "1023"},
    [KEY_CPUS] = {"", "0-3,8"},
    [KEY_SERVE] = {"[::1]:7", "unix:/q\"q"},
    [KEY_CONNECT] = {"1.2.3.4:5", "unix:/s"},
    [KEY_LISTEN] = {":1 proxy_protocol,[::]:2", ""},
    [KEY_NETWORKS] = {"10.0.0.0/8,unix,fe80::/10", "0.0.0.0/0"},
    [KEY_RULES] = {"PUT /a,POST /b/**", "[\"POST /\\\"\"]"},
    [KEY_CLASSES] = {"GET /a,* /b/**", "[\"PUT /a\"]"},
    [KEY_PATTERNS] = {"/a,/b/*/c/", "[\"/\\\"<\"]"},
    [KEY_FIELDS] = {"X-A,cookie", "x'"},
    [KEY_STATUSES] = {"204,300-399", "599"},
    [KEY_ARGUMENTS] = {"[\"a b\", \"\", \"\\\"\"]", "x"},
    [KEY_ENVIRONMENT] = {"{\"A\": \"=\\\\ \", \"B\": \"\"}", "A=1"},
};

static void
random_value(const struct config_key *key, char *out, size_t size)
{
	switch ((int)key->type) {
	case KEY_CHOICE:
	case KEY_FLAGS:
		random_choices(key, out, size);
		return;
	case KEY_COUNT:
	case KEY_BYTES:
	case KEY_DURATION:
	case KEY_RATIO:
		random_quantity(key, out, size);
		return;
	case KEY_DELAY:
		if (roll(2))
			snprintf(out, size, "p%u", 50 + roll(51));
		else
			snprintf(out, size, "%u.5ms", roll(1000));
		return;
	default:
		snprintf(out, size, "%s", samples[key->type][roll(2)]);
	}
}

static void
set_random(struct config *c, const struct config_key *key, unsigned server)
{
	struct config_errors errors = {0};
	char path[128], text[256];

	random_value(key, text, sizeof(text));
	if (key_of_server(key))
		snprintf(path, sizeof(path), "servers[%u]%s", server,
		    key->path + strlen("servers[]"));
	else
		snprintf(path, sizeof(path), "%s", key->path);
	if (config_set(c, path, text, &errors) != 0)
		fail_msg("%s", errors.text[0]);
}

static void
assert_reads_back(const struct config *c)
{
	char *first = written(c), *second;
	struct config *again = parse_good(first);

	second = written(again);
	assert_string_equal(first, second);
	free(first);
	free(second);
	config_free(&again);
}

TEST(test_any_value_of_any_key)
{
	for (unsigned round = 0; round < 200; round++) {
		struct config *c;

		assert_int_equal(config_new(&c), 0);
		for (unsigned k = 0; k < config_keys_count; k++)
			for (unsigned s = 0; s < 1 + round % 2; s++)
				set_random(c, &config_keys[k], s);
		assert_reads_back(c);
		config_free(&c);
	}
}

/* That the above cannot pass by writing the default everywhere. */
TEST(test_every_key_shows_its_value)
{
	for (unsigned k = 0; k < config_keys_count; k++) {
		struct config *c;
		char *before, *after;
		bool differs = false;

		for (unsigned tries = 0; tries < 20 && !differs; tries++) {
			assert_int_equal(config_new(&c), 0);
			c->servers = 1;
			before = written(c);
			set_random(c, &config_keys[k], 0);
			after = written(c);
			differs = strcmp(before, after) != 0;
			free(before);
			free(after);
			config_free(&c);
		}
		if (!differs)
			fail_msg("%s: writes the same whatever it is",
			    config_keys[k].path);
	}
}

TEST(test_example_reads_back)
{
	struct config_errors errors = {0};
	struct config *c;

	if (config_load(&c, "examples/tailor.json", true, &errors) != 0)
		fail_msg("%s", errors.text[0]);
	assert_int_equal(config_check(c, &errors), 0);
	assert_reads_back(c);
	config_free(&c);
}

TEST(test_ranges_admit_their_ends)
{
	static const double outside[] = {-1, 1};

	for (unsigned k = 0; k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];
		char text[64], path[128];
		struct config *c;

		if (key->type != KEY_COUNT && key->type != KEY_BYTES &&
		    key->type != KEY_DURATION)
			continue;
		snprintf(path, sizeof(path), "%s%s",
		    key_of_server(key) ? "servers[0]" : "",
		    key->path + (key_of_server(key) ? 9 : 0));
		assert_int_equal(config_new(&c), 0);
		for (unsigned i = 0; i < 2; i++) {
			struct config_errors errors = {0};
			double end = i == 0 ? key->min : key->max;
			const char *ns = key->type == KEY_DURATION ? "ns" : "";

			snprintf(text, sizeof(text), "%.0f%s", end, ns);
			assert_int_equal(config_set(c, path, text, &errors), 0);
			snprintf(
			    text, sizeof(text), "%.0f%s", end + outside[i], ns);
			assert_int_equal(
			    config_set(c, path, text, &errors), -EINVAL);
			config_errors_fini(&errors);
		}
		config_free(&c);
	}
}

TEST(test_manual_names_every_key)
{
	char meaning[KEY_TEXT_MAX];
	char *text, needle[160];
	size_t length;

	assert_int_equal(config_write_manual(&text, &length), 0);
	assert_int_equal(strlen(text), length);
	for (unsigned k = 0; k < config_keys_count; k++) {
		const char *path = config_keys[k].path;
		const char *p = path;
		size_t n = 0;

		needle[n++] = '*';
		for (; *p != '\0'; p++) {
			if (strchr("_[]", *p) != NULL)
				needle[n++] = '\\';
			needle[n++] = *p;
		}
		snprintf(needle + n, sizeof(needle) - n, "*\n");
		if (strstr(text, needle) == NULL)
			fail_msg("%s is not in the manual", path);
	}
	for (unsigned k = 0; k < config_keys_count; k++)
		assert_true(*key_text(config_keys[k].path, meaning) != '\0');
	for (unsigned s = 1; s < key_sections_count; s++) {
		snprintf(needle, sizeof(needle), "\n# %s\n", key_sections[s]);
		assert_non_null(strstr(text, needle));
	}
	free(text);
}

TEST(test_every_key_has_a_section)
{
	for (unsigned k = 0; k < config_keys_count; k++) {
		char section[128];
		char *dot;

		snprintf(section, sizeof(section), "%s", config_keys[k].path);
		dot = strrchr(section, '.');
		*(dot != NULL ? dot : section) = '\0';
		assert_true(key_section_exists(section));
		assert_ptr_equal(
		    key_find(config_keys[k].path), &config_keys[k]);
	}
}

/* Paths that differ, those that want a restart marked. */
static void
note_difference(void *user, const char *path, bool restart)
{
	char *text = user;

	strcat(text, path);
	strcat(text, restart ? "! " : " ");
}

TEST(test_compare)
{
	/* Goal: exactly the keys that differ are named, each with whether a
	 * running tailor can take it. */
	static const char before[] =
	    "{\"listen\": \":1\", \"servers\": ["
	    "{\"address\": \":2\"}, {\"address\": \":3\"}]}";
	static const char after[] =
	    "{\"listen\": [\":1\", \":9\"], \"servers\": ["
	    "{\"address\": \":2\", \"health\": \"/x\"},"
	    "{\"address\": \":4\", \"launch\": {\"command\": [\"x\"]}}],"
	    "\"hedging\": {\"mode\": \"watch\", \"triggers\": \"exit\"},"
	    "\"slow\": {\"history\": 99}}";
	struct config *a = parse_good(before), *b = parse_good(after);
	char text[512] = "";

	assert_int_equal(config_compare(a, a, note_difference, text), 0);
	assert_string_equal(text, "");
	assert_int_equal(config_compare(a, b, note_difference, text), 0);
	assert_string_equal(text,
	    "servers[0].health servers[1].address servers[1].launch.command "
	    "listen hedging.mode hedging.triggers slow.history! ");
	assert_false(config_server_replaces(&a->server[0], &b->server[0]));
	assert_true(config_server_replaces(&a->server[1], &b->server[1]));
	strcpy(b->server[1].name, "c");
	text[0] = '\0';
	assert_int_equal(config_compare(a, b, note_difference, text), 0);
	assert_memory_equal(text, "servers[0].health servers listen ", 33);
	b->servers = 1;
	text[0] = '\0';
	assert_int_equal(config_compare(b, a, note_difference, text), 0);
	assert_memory_equal(text, "servers[0].health servers listen ", 33);
	config_free(&a);
	config_free(&b);
}

TEST(test_profiler_keys_want_a_restart)
{
	/* Goal: the observer is told its options once; a key added to it is
	 * not taken for one that a reload changes. */
	for (unsigned k = 0; k < config_keys_count; k++)
		if (strncmp(config_keys[k].path, "profiler.", 9) == 0 &&
		    !config_keys[k].restart)
			fail_msg("%s", config_keys[k].path);
}
