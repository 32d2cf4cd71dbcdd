/* judge.c: walk the tree and check it against the table of keys.
 *
 * The walk goes on after an error, so that all are reported. */
#include "config/judge.h"

#include <errno.h>
#include <stdarg.h>

#include "base/nearest.h"
#include "config/value.h"

struct judge {
	struct config *config;
	const struct source *source; /* borrowed; NULL: the command line */
	struct config_errors *errors;
	int err;
};

/* --- did you mean ------------------------------------------------------ */

struct candidate {
	const char *path;
	unsigned distance;
};

static const char *
last_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL ? dot + 1 : path;
}

/* True if both paths name members of the same section. */
static bool
same_section(const char *a, const char *b)
{
	size_t m = (size_t)(last_name(a) - a), n = (size_t)(last_name(b) - b);

	return m == n && strncmp(a, b, n) == 0;
}

static void
consider(struct candidate *best, const char *path, const char *known)
{
	const char *word = last_name(path);
	unsigned distance = nearest_distance(word, last_name(known));

	if (!nearest_is_slip(distance, word))
		return;
	/* Prefer a typing error to a wrong section, unless the name matches
	 * exactly. */
	distance *= 2;
	if (!same_section(path, known))
		distance += 1;
	if (best->path == NULL || distance < best->distance)
		*best = (struct candidate){known, distance};
}

/* The known key or section nearest to an unknown path ("servers[0].nmae"): a
 * similar name in the same section, else the same or a similar name in another.
 * False if none is near. */
static bool
suggest_key(const char *path, char out[KEY_PATH_MAX])
{
	struct candidate best = {NULL, 0};
	char lookup[KEY_PATH_MAX];
	unsigned index;

	key_split(path, lookup, &index);
	for (unsigned i = 0; i < config_keys_count; i++)
		consider(&best, lookup, config_keys[i].path);
	/* Sections come last; "" and "servers[]" are not written in files. */
	for (unsigned i = 0; i < key_sections_count; i++)
		if (strpbrk(key_sections[i], "[") == NULL &&
		    *key_sections[i] != '\0')
			consider(&best, lookup, key_sections[i]);
	consider(&best, lookup, "servers");
	consider(&best, lookup, "servers[].launch");
	if (best.path == NULL)
		return false;
	key_path(best.path, index, out);
	return true;
}

static const char *
suggest_choice(const struct key_choice *choices, const char *text)
{
	struct nearest best = {NULL, 0};

	for (; choices->name != NULL; choices++)
		nearest_consider(&best, text, choices->name);
	return best.word;
}

/* --- messages --------------------------------------------------------- */

#define WHERE_MAX 300

/* "file:line:column: " of a node, or of its name; "" on the command line. */
static char *
where_is(
    const struct judge *j, const cJSON *node, bool name, char out[WHERE_MAX])
{
	struct source_position at;
	struct source_place place;

	out[0] = '\0';
	if (j->source == NULL)
		return out;
	place = source_place(j->source, node);
	at = source_position(j->source->text, j->source->length,
	    name ? place.name : place.value);
	snprintf(out, WHERE_MAX, "%.255s:%u:%u: ", j->source->name, at.line,
	    at.column);
	return out;
}

/* Format a value as it is in a file, for display. */
static void
show_value(const cJSON *value, char *out, size_t size)
{
	char quoted[QUOTE_MAX];

	if (cJSON_IsString(value))
		snprintf(out, size, "\"%s\"",
		    errors_quote(value->valuestring, quoted));
	else if (cJSON_IsNumber(value))
		snprintf(out, size, "%.15g", value->valuedouble);
	else if (cJSON_IsArray(value))
		snprintf(out, size, "a list");
	else if (cJSON_IsObject(value))
		snprintf(out, size, "an object");
	else if (cJSON_IsNull(value))
		snprintf(out, size, "null");
	else
		snprintf(out, size, cJSON_IsTrue(value) ? "true" : "false");
}

static void
report_value(struct judge *j, const struct config_key *key, const char *path,
    const cJSON *value, const struct refusal *refusal)
{
	const cJSON *at = refusal->at != NULL ? refusal->at : value;
	const char *nearest = NULL;
	char where[WHERE_MAX], shown[QUOTE_MAX + 2], expected[300];
	char member[KEY_PATH_MAX + QUOTE_MAX], name[QUOTE_MAX];

	if (at != value && at->string != NULL) {
		snprintf(member, sizeof(member), "%s.%s", path,
		    errors_quote(at->string, name));
		path = member;
	}
	show_value(at, shown, sizeof(shown));
	where_is(j, at, false, where);
	if (refusal->why != NULL) {
		config_errors_add(j->errors, "%s%s: %s: %s", where, path, shown,
		    refusal->why);
		return;
	}
	key_describe(key, refusal->at != NULL, expected, sizeof(expected));
	/* Text after a colon is an argument, not a misspelt choice. */
	if (key->choices != NULL && cJSON_IsString(at) &&
	    strchr(at->valuestring, ':') == NULL)
		nearest = suggest_choice(key->choices, at->valuestring);
	config_errors_add(j->errors, "%s%s: %s is not %s%s%s%s", where, path,
	    shown, expected, nearest != NULL ? "; did you mean \"" : "",
	    nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

static void __attribute__((format(printf, 4, 5))) report(struct judge *j,
    const cJSON *node, const char *path, const char *format, ...)
{
	char where[WHERE_MAX], sentence[200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	config_errors_add(j->errors, "%s%s%s%s", where_is(j, node, true, where),
	    path, *path != '\0' ? ": " : "", sentence);
	j->err = -EINVAL;
}

void
judge_unknown(struct config_errors *errors, const char *where, const char *path)
{
	char nearest[KEY_PATH_MAX];
	unsigned index;

	key_split(path, nearest, &index);
	if (index >= CONFIG_SERVERS)
		config_errors_add(errors,
		    "%s%s: at most %d servers: servers[0] and servers[1]",
		    where, path, CONFIG_SERVERS);
	else if (suggest_key(path, nearest))
		config_errors_add(errors, "%s%s: unknown key; did you mean %s?",
		    where, path, nearest);
	else
		config_errors_add(errors, "%s%s: unknown key", where, path);
}

/* --- values ----------------------------------------------------------- */

/* path: the key's, with the index of a server, for messages. */
static void
judge_value(struct judge *j, const struct config_key *key, unsigned index,
    const char *path, const cJSON *value)
{
	struct refusal refusal;
	int err;

	err =
	    value_set(key, value_base(j->config, key, index), value, &refusal);
	if (err == 0)
		return;
	if (err == -EINVAL)
		report_value(j, key, path, value, &refusal);
	j->err = err;
}

int
judge_text(struct config *c, const struct config_key *key, unsigned index,
    const char *text, struct config_errors *errors)
{
	struct judge j = {.config = c, .errors = errors};
	cJSON *value = value_from_text(key, text);
	char path[KEY_PATH_MAX];

	if (value == NULL)
		return -ENOMEM;
	judge_value(&j, key, index, key_path(key->path, index, path), value);
	cJSON_Delete(value);
	return j.err;
}

/* --- the walk --------------------------------------------------------- */

static void
judge_object(struct judge *j, const char *path, const cJSON *object);

/* Make the path of a member, with its name made displayable. */
static void
path_enter(char out[KEY_PATH_MAX], const char *path, const char *name)
{
	/* An empty name, or one with a dot, must not look like a path. */
	bool odd = *name == '\0' || strpbrk(name, ".[]\"") != NULL;
	const char *dot = *path != '\0' ? "." : "", *mark = odd ? "\"" : "";
	char quoted[QUOTE_MAX];

	/* Sections nest two deep; deeper paths are cut. */
	snprintf(out, KEY_PATH_MAX, "%.60s%s%s%s%s", path, dot, mark,
	    errors_quote(name, quoted), mark);
}

static void
judge_servers(struct judge *j, const char *path, const cJSON *list)
{
	char server[KEY_PATH_MAX];
	unsigned n = 0;

	if (!cJSON_IsArray(list)) {
		report(j, list, path,
		    "must be a list [] of objects, even for one");
		return;
	}
	for (const cJSON *e = list->child; e != NULL; e = e->next, n++) {
		if (n == CONFIG_SERVERS) {
			report(j, e, path,
			    "at most 2 are allowed, an active one and a "
			    "backup");
			break;
		}
		judge_object(j, key_path("servers[]", n, server), e);
	}
	j->config->servers = n;
}

static void
judge_member(struct judge *j, const char *path, const cJSON *member)
{
	char where[WHERE_MAX], lookup[KEY_PATH_MAX];
	const struct config_key *key;
	unsigned index;

	key_split(path, lookup, &index);
	key = key_find(lookup);
	if (key != NULL) {
		judge_value(j, key, index, path, member);
	} else if (strcmp(path, "servers") == 0) {
		judge_servers(j, path, member);
	} else if (key_section_exists(lookup)) {
		judge_object(j, path, member);
	} else {
		judge_unknown(
		    j->errors, where_is(j, member, true, where), path);
		j->err = -EINVAL;
	}
}

/* The earlier member of the same name. */
static const cJSON *
find_twin(const cJSON *object, const cJSON *member)
{
	const cJSON *e = object->child;

	while (e != member && strcmp(e->string, member->string) != 0)
		e = e->next;
	return e != member ? e : NULL;
}

/* An example of the object that a path needs, as text after "must be an
 * object". */
static const char *
object_like(const char *path)
{
	const char *name = strrchr(path, '.');

	if (strncmp(path, "servers[", 8) != 0)
		return " {}";
	return name != NULL && strcmp(name, ".launch") == 0
		   ? " like {\"command\": [\"program\", \"argument\"]}"
		   : " like {\"address\": \"127.0.0.1:9001\"}";
}

static void
judge_object(struct judge *j, const char *path, const cJSON *object)
{
	char where[WHERE_MAX];

	if (!cJSON_IsObject(object)) {
		report(
		    j, object, path, "must be an object%s", object_like(path));
		return;
	}
	for (const cJSON *e = object->child; e != NULL; e = e->next) {
		const cJSON *twin = find_twin(object, e);
		char member[KEY_PATH_MAX];

		if (errors_full(j->errors) || j->err == -ENOMEM)
			return;
		path_enter(member, path, e->string);
		if (twin != NULL) {
			where_is(j, twin, true, where);
			where[strlen(where) - 2] = '\0';
			report(j, e, member, "given twice, first at %s",
			    where + strlen(j->source->name) + 1);
			continue;
		}
		judge_member(j, member, e);
	}
}

int
judge_source(
    struct config *c, const struct source *s, struct config_errors *errors)
{
	struct judge j = {.config = c, .source = s, .errors = errors};

	judge_object(&j, "", s->root);
	return j.err;
}
