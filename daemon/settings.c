/* settings.c: reads file, environment and command line, in that order. */
#include "daemon/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/command_line.h"
#include "base/nearest.h"
#include "proxy/client/listeners.h"

static int
setting_add(struct settings *s, const char *key, const char *value)
{
	if (s->sets == SETTINGS_MAX)
		return -ENOSPC;
	s->set[s->sets].key = key;
	s->set[s->sets++].value = value;
	return 0;
}

/* Store an option that is a key and may be repeated. */
static int
set_key(void *to, const struct option_row *row, const char *text)
{
	return setting_add(to, row->name, text);
}

/* Store an option of one server; a second use is refused, not ignored. */
static int
set_server(void *to, const struct option_row *row, const char *text)
{
	static const char *const keys[] = {
	    "servers[0].address", "servers[1].address"};
	const struct settings *s = to;

	for (unsigned i = 0; i < s->sets; i++)
		if (s->set[i].key == keys[row->low])
			return -EEXIST;
	return setting_add(to, keys[row->low], text);
}

static int
set_watch(void *to, const struct option_row *row, const char *text)
{
	(void)row;
	(void)text;
	return setting_add(to, "hedging.mode", "watch");
}

static int
set_any(void *to, const struct option_row *row, const char *text)
{
	struct settings *s = to;
	const char *equals = strchr(text, '=');
	char *key = s->text[s->sets % SETTINGS_MAX];

	(void)row;
	if (equals == NULL || (size_t)(equals - text) >= sizeof(s->text[0]))
		return -EINVAL;
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	return setting_add(s, key, equals + 1);
}

static const struct line_command command = {.name = "", .argument = ""};

#define MOST "one of at most 64 settings" /* SETTINGS_MAX */
#define ONE "the first: one server is --active, one --backup"
#define AT(member) .at = offsetof(struct settings, member)

static const struct option_row rows[] = {
    {"config", 'c', "FILE", "read the configuration from FILE", option_text,
	AT(file)},
    {"listen", 0, "ADDR", "accept clients there (host:port, unix:/path)",
	.set = set_key, .wants = MOST, .values = ""},
    {"active", 0, "ADDR", "the server that is active at first",
	.set = set_server, .wants = ONE, .values = ""},
    {"backup", 0, "ADDR", "the server that stands by", .set = set_server,
	.low = 1, .wants = ONE, .values = ""},
    {"watch", 0, NULL, "watch only: hedging.mode=watch", .set = set_watch,
	.wants = MOST},
    {"admin", 0, "ADDR", "listen for tailorctl there (unix:/path)",
	.set = set_key, .wants = MOST, .values = ""},
    {"set", 0, "KEY=VALUE", "set a key: slow.target=50ms (repeat)",
	.set = set_any, .wants = "KEY=VALUE, or more than 64",
	.values = "@KEY"},
    {"test", 't', NULL, "check the configuration; exit 0: it is good",
	option_flag, AT(test)},
    {"dump", 'T', NULL, "print the effective configuration", option_flag,
	AT(dump)},
    {"manual", 0, NULL, "print the keys as a manual page (scdoc)", option_flag,
	AT(manual)},
    {"schema", 0, NULL, "print a JSON schema of the configuration", option_flag,
	AT(schema)},
    {"completion", 0, "SHELL", "print a script for bash, zsh or fish",
	option_chosen, AT(completion), .values = "bash zsh fish"},
};

/* Words that are no options, with advice: misnamed options, and commands of
 * other daemons. */
static const struct line_instead insteads[] = {
    {"--standby", "did you mean --backup?"},
    {"--upstream --backend --server --target", "did you mean --active?"},
    {"--port", "did you mean --listen?"},
    {"--file -f", "did you mean -c?"},
    {"--mode --observe --dry-run", "did you mean --watch?"},
    {"--log-level", "did you mean --set log.level=info?"},
    {"--threads", "one thread serves all; leave it out"},
    {"--daemon -d", "tailor stays in the foreground; use systemd"},
    {"start stop restart reload status run",
	"\"tailorctl --help\" lists commands for a running tailor; systemd or "
	"a signal starts or ends one"},
};

/* Explain a word that is a key without --set, a command of tailorctl, an
 * address, a port, or a file without -c. */
static bool
explain(const struct line_command *of, const char *word, char *why)
{
	(void)of;
	if (strncmp(word, "--", 2) == 0 &&
	    memchr(word, '.', strcspn(word, "=")) != NULL)
		snprintf(why, LINE_WHY,
		    "a key is set by --set KEY=VALUE: --set %.150s", word + 2);
	else if (word[0] == '-')
		return false;
	else if (nearest_is_slip(nearest_distance(word, "shim"), word))
		snprintf(why, LINE_WHY,
		    "no command \"%.20s\"; did you mean shim? It has to be "
		    "the first word",
		    word);
	else if (strchr(word, ':') != NULL)
		snprintf(why, LINE_WHY,
		    "\"%.60s\" is not an option; an address is given with "
		    "--listen, --active or --backup",
		    word);
	else if (strspn(word, "0123456789") == strlen(word))
		snprintf(why, LINE_WHY,
		    "\"%.20s\" is not an option; a port is part of an address: "
		    "HOST:%.20s",
		    word, word);
	else
		snprintf(why, LINE_WHY,
		    "\"%.60s\" is not an option; give a configuration file "
		    "with -c FILE",
		    word);
	return true;
}

static void
complete_key(const char *what, const char *selected, const char *typed)
{
	char *keys = config_list_keys();

	(void)what;
	(void)selected;
	if (keys != NULL)
		line_offer(keys, typed);
	free(keys);
}

static const struct command_line line = {
    .program = "tailor",
    .about =
	"       tailor -c FILE\n"
	"       tailor --listen ADDR --active ADDR [--backup ADDR]\n"
	"       tailor shim --help: sample counters of a process or CPU\n\n"
	"A latency-controlling HTTP proxy in front of two servers of\n"
	"one service.  When the active one stops for a garbage\n"
	"collection or ends, requests go to the other at once, those\n"
	"in flight too.",
    .end = "\nSee tailor(8) and tailor.conf(5).  Query a running tailor with "
	   "tailorctl(1).",
    .command = &command,
    .commands = 1,
    .row = rows,
    .rows = COUNT(rows),
    .instead = insteads,
    .insteads = COUNT(insteads),
    .explain = explain,
    .complete = complete_key,
};

static void
print_schema(void)
{
	struct json j;

	json_init(&j, true);
	config_write_schema(&j);
	exit(json_print(&j, stdout) < 0 ? 1 : 0);
}

static void
print_manual(void)
{
	char *text;
	size_t length;

	if (config_write_manual(&text, &length) < 0)
		exit(1);
	fwrite(text, 1, length, stdout);
	free(text);
	exit(0);
}

void
settings_parse(struct settings *s, int argc, char **argv)
{
	struct line_words words;
	char why[LINE_WHY];
	int err = line_parse(&line, s, argc, argv, &words, why);

	if (err < 0) {
		line_complain(&line, why);
		exit(2);
	}
	if (err > 0)
		exit(0);
	if (s->manual)
		print_manual();
	if (s->schema)
		print_schema();
	if (s->completion != NULL) {
		line_completion(stdout, &line, s->completion);
		exit(0);
	}
}

int
settings_read(
    const struct settings *s, struct config **out, struct config_errors *errors)
{
	bool runs = s->instance != NULL;
	int err = s->file != NULL ? config_load(out, s->file, !runs, errors)
				  : config_new(out);

	if (err == 0)
		err = config_set_environment(*out, errors);
	for (unsigned i = 0; err == 0 && i < s->sets; i++)
		if (config_set(*out, s->set[i].key, s->set[i].value, errors) <
		    0)
			err = -EINVAL;
	if (err == 0)
		err = activation_configure(*out, errors);
	if (err == 0)
		err = config_name(*out, s->instance, errors);
	if (err == 0)
		err = config_check(*out, errors);
	if (err < 0)
		config_free(out);
	return err;
}
