/* keys.h: the table of keys; private to config/.
 *
 * The entry of a key has its place in struct config, its values and its default
 * (as text in a file); keys.txt has its meaning.  Reading, checking, writing,
 * freeing and the manual page all use this table.  Keys of one section are
 * adjacent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantity.h"

enum key_type {
	KEY_BOOL,     /* bool */
	KEY_CHOICE,   /* an enum; its last name may take an argument */
	KEY_FLAGS,    /* a list of names: an unsigned, a set of bits */
	KEY_COUNT,    /* unsigned */
	KEY_BYTES,    /* uint64_t */
	KEY_DURATION, /* int64_t */
	KEY_RATIO,    /* double */
	KEY_DELAY,    /* int64_t, or 0 and an unsigned percentile */
	KEY_NAME,     /* char *, as all below to KEY_CPUS */
	KEY_NAME_OR_NONE,
	KEY_TARGET,
	KEY_HOST,
	KEY_PATH,
	KEY_TEXT,
	KEY_CPU,
	KEY_CPUS,
	KEY_SERVE,   /* struct config_address that is listened on */
	KEY_CONNECT, /* struct config_address that is connected to */
	KEY_LISTEN,  /* array of struct config_address */
	KEY_NETWORKS,
	KEY_RULES, /* arrays of char *, as all below */
	KEY_PATTERNS,
	KEY_CLASSES,
	KEY_FIELDS,
	KEY_STATUSES,
	KEY_ARGUMENTS,
	KEY_ENVIRONMENT,
};

struct key_choice {
	const char *name;
	unsigned value; /* KEY_CHOICE: the enum; KEY_FLAGS: a bit */
};

struct config_key {
	const char *path; /* "hedging.mode", "servers[].address" */
	enum key_type type;
	unsigned size;	     /* of the member, bytes */
	size_t offset;	     /* in struct config, or struct config_server */
	size_t count_offset; /* of a second member: a list's count, a delay's
			      * percentile, a choice's argument */
	double min, max;     /* in base units: 1, bytes, ns */
	const char *unit;    /* durations: the unit of a plain number */
	const struct key_choice *choices;
	/* Choices: the argument of the last name if none is given.  After ":"
	 * it may have a duration (keys with a unit, int64_t) or a path (text).
	 * NULL: no name takes an argument. */
	const char *argument;
	bool power_of_two;
	bool or_auto;	      /* a duration, or CONFIG_DURATION_AUTO */
	bool restart;	      /* a reload cannot change it; a server's key: a
		       * reload drains the server for it */
	const char *fallback; /* the default */
};

#define KEY_PATH_MAX 160
#define KEY_SERVERS "servers[]" /* the section that is a list */

extern const struct config_key config_keys[];
extern const unsigned config_keys_count;

extern const char *const key_sections[]; /* their paths; "" is the top */
extern const unsigned key_sections_count;

/* The key of this path ("servers[].name"), or NULL. */
const struct config_key *key_find(const char *path);

#define DELAY_PERCENTILE_MIN 50

/* "servers[].name" with an index, "servers[1].name"; a path without [] is only
 * copied.  Returns out. */
char *key_path(const char *path, unsigned index, char out[KEY_PATH_MAX]);

/* The reverse: "servers[1].name" as "servers[].name" and 1.  False if the path
 * has no index of one digit: path is then only copied, and *index is 0. */
bool key_split(const char *path, char out[KEY_PATH_MAX], unsigned *index);

/* True if there is a section of this path ("hedging", "servers[]"). */
bool key_section_exists(const char *path);

/* The text of keys.txt about a key or section, in one line; "" if none.
 * Returns out. */
#define KEY_TEXT_MAX 2048
char *key_text(const char *path, char out[KEY_TEXT_MAX]);

/* True if key number k is in the section, or in one inside it.  Then name
 * receives the section's member that leads to the key ("via", "servers"), and
 * inner the path of that member if it is a section, "" if it is the key. */
bool key_member(unsigned k, const char *section, char name[KEY_PATH_MAX],
    char inner[KEY_PATH_MAX]);

/* True if a key is a member of struct config_server. */
bool key_of_server(const struct config_key *key);

/* True if ":" and an argument may follow this choice. */
bool key_takes_argument(
    const struct config_key *key, const struct key_choice *choice);

/* The quantity and plain unit of a numeric key. */
enum quantity key_quantity(const struct config_key *key);
uint64_t key_scale(const struct config_key *key);

#define KEY_DEFAULT_MAX 256

/* The default of server number index (0 for keys without one), "a" or "b" for
 * {server}; returns out.  Other names in braces stay: config_name expands them
 * later. */
char *key_default(
    const struct config_key *key, unsigned index, char out[KEY_DEFAULT_MAX]);

struct config;

/* Find the place that a name in braces stands for (places.c), for the user that
 * a tailor with this configuration runs as.  False: there is no such place.
 *   {instance}  its name
 *   {run}       the first of $RUNTIME_DIRECTORY, /run/tailor (root; -root if
 *               /run/tailor is another user's),
 *               $XDG_RUNTIME_DIR/tailor, /tmp/tailor-<uid>, {state} if
 *               /tmp/tailor-<uid> is another user's
 *   {state}     the first of $STATE_DIRECTORY, /var/lib/tailor (root, too),
 *               $XDG_STATE_HOME/tailor, $HOME/.local/state/tailor
 *   {user}      "" for root, "-<uid>" for others
 * As root with process.user NAME: the directory NAME in $RUNTIME_DIRECTORY and
 * $STATE_DIRECTORY, or else /run/tailor-NAME and /var/lib/tailor-NAME. */
bool
place_find(const struct config *c, const char *name, char *out, size_t size);

/* True if a path begins with a place that is a whole directory: {run}/ or
 * {state}/. */
bool place_begins(const char *path);

/* Describe the values of a key, or of an element of its list, as words after
 * "is not". */
void key_describe(
    const struct config_key *key, bool element, char *out, size_t size);
