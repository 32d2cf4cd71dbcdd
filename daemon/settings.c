/* settings.c: file, environment and command line, in that order. */
#include "daemon/settings.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "base/nearest.h"
#include "base/completion.h"
#include "base/usage.h"
#include "proxy/client/listeners.h"

enum {
	OPTION_LISTEN = 256,
	OPTION_ACTIVE,
	OPTION_BACKUP,
	OPTION_ADMIN,
	OPTION_SET,
	OPTION_MANUAL,
	OPTION_SCHEMA,
	OPTION_COMPLETION,
};

/* One table gives getopt its options and --help its text. */
static const struct option_help {
	struct option option;
	const char *argument, *meaning;
} options[] = {
    {{"config", required_argument, NULL, 'c'}, "FILE",
	"read the configuration from FILE"},
    {{"listen", required_argument, NULL, OPTION_LISTEN}, "ADDR",
	"accept clients there (host:port, unix:/path)"},
    {{"active", required_argument, NULL, OPTION_ACTIVE}, "ADDR",
	"the server that is active at first"},
    {{"backup", required_argument, NULL, OPTION_BACKUP}, "ADDR",
	"the server that stands by"},
    {{"admin", required_argument, NULL, OPTION_ADMIN}, "ADDR",
	"listen for tailorctl there (unix:/path)"},
    {{"set", required_argument, NULL, OPTION_SET}, "KEY=VALUE",
	"set a key: hedging.mode=watch (repeatable)"},
    {{"test", no_argument, NULL, 't'}, NULL,
	"check the configuration; exit 0: it is good"},
    {{"dump", no_argument, NULL, 'T'}, NULL,
	"print the effective configuration"},
    {{"manual", no_argument, NULL, OPTION_MANUAL}, NULL,
	"print the keys as a manual page (scdoc)"},
    {{"schema", no_argument, NULL, OPTION_SCHEMA}, NULL,
	"print a JSON schema of the configuration"},
    {{"completion", required_argument, NULL, OPTION_COMPLETION}, "SHELL",
	"print a script for bash, zsh or fish"},
    {{"version", no_argument, NULL, 'V'}, NULL, "print the version and exit"},
    {{"help", no_argument, NULL, 'h'}, NULL, "print this and exit"},
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

static void
help(void)
{
	printf(
	    "Usage: tailor -c FILE\n"
	    "       tailor --listen ADDR --active ADDR [--backup ADDR]\n"
	    "       tailor shim --help: sample counters of a process or CPU\n\n"
	    "A latency-controlling HTTP proxy in front of two servers of\n"
	    "one service.  When the active one stops for a garbage\n"
	    "collection or ends, requests go to the other at once, those\n"
	    "in flight too.\n\n");
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option_help *o = &options[i];
		char name[40], letter[8] = "    ";

		if (o->option.val < 256)
			snprintf(
			    letter, sizeof(letter), "-%c, ", o->option.val);
		snprintf(name, sizeof(name), "--%s%s%s", o->option.name,
		    o->argument != NULL ? " " : "",
		    o->argument != NULL ? o->argument : "");
		printf("  %s%-17s %s\n", letter, name, o->meaning);
	}
	printf("\nSee tailor(8) and tailor.conf(5).  Query a running tailor "
	       "with tailorctl(1).\n");
}

static void
setting_add(struct settings *s, const char *key, const char *value)
{
	if (s->sets == SETTINGS_MAX) {
		fprintf(
		    stderr, "tailor: more than %d settings\n", SETTINGS_MAX);
		exit(2);
	}
	s->set[s->sets].key = key;
	s->set[s->sets++].value = value;
}

/* Set what is one server's: the last of two would win silently. */
static void
server_add(struct settings *s, const char *key, const char *option)
{
	for (unsigned i = 0; i < s->sets; i++) {
		if (strcmp(s->set[i].key, key) != 0)
			continue;
		fprintf(stderr,
		    "tailor: --%s is given twice: one server is --active, "
		    "the other --backup\n",
		    option);
		exit(2);
	}
	setting_add(s, key, optarg);
}

static void
setting_split(struct settings *s, const char *text)
{
	const char *equals = strchr(text, '=');
	char *key = s->text[s->sets % SETTINGS_MAX];

	if (equals == NULL || (size_t)(equals - text) >= sizeof(s->text[0])) {
		fprintf(
		    stderr, "tailor: --set %s: write it as KEY=VALUE\n", text);
		exit(2);
	}
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	setting_add(s, key, equals + 1);
}

static void
print_completion(const char *shell)
{
	struct completion_word word[OPTIONS];
	struct completion c = {
	    .program = "tailor", .option = word, .options = OPTIONS};
	char *keys = config_list_keys();

	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *o = &options[i].option;

		word[i] = (struct completion_word){.name = o->name,
		    .meaning = options[i].meaning,
		    .argument = options[i].argument != NULL,
		    .letter = o->val < 256 ? (char)o->val : '\0',
		    .values = o->val == OPTION_SET	    ? keys
			      : o->val == OPTION_COMPLETION ? "bash zsh fish"
							    : NULL};
	}
	if (completion_print(stdout, shell, &c))
		exit(0);
	fprintf(stderr, "tailor: --completion %s: must be bash, zsh or fish\n",
	    shell);
	exit(2);
}

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

static void
option_apply(struct settings *s, int option)
{
	switch (option) {
	case 'c':
		s->file = optarg;
		break;
	case 't':
		s->test = true;
		break;
	case 'T':
		s->dump = true;
		break;
	case 'V':
		printf("tailor %s\n", TAILOR_VERSION);
		exit(0);
	case 'h':
		help();
		exit(0);
	case OPTION_LISTEN:
		setting_add(s, "listen", optarg);
		break;
	case OPTION_ACTIVE:
		server_add(s, "servers[0].address", "active");
		break;
	case OPTION_BACKUP:
		server_add(s, "servers[1].address", "backup");
		break;
	case OPTION_ADMIN:
		setting_add(s, "admin", optarg);
		break;
	case OPTION_SET:
		setting_split(s, optarg);
		break;
	case OPTION_COMPLETION:
		print_completion(optarg);
		break;
	case OPTION_MANUAL:
		print_manual();
		break;
	case OPTION_SCHEMA:
		print_schema();
		break;
	}
}

/* What other daemons take as a command. */
static bool
is_control(const char *word)
{
	static const char *const words[] = {
	    "start", "stop", "restart", "reload", "status", "run"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

/* A word that is no option: one without its dashes, an address or port, a
 * command of another program, or a file without -c. */
static void
word_refuse(const char *word)
{
	struct nearest best = {NULL, 0};
	const char *dashes = "";

	nearest_consider(&best, word, "shim");
	for (size_t i = 0; i < OPTIONS; i++)
		if (strcmp(options[i].option.name, word) == 0) {
			best.word = word;
			dashes = "--";
		}
	fprintf(stderr, "tailor: ");
	if (best.word != NULL)
		fprintf(stderr, "no command \"%s\"; did you mean %s%s?\n", word,
		    dashes, best.word);
	else if (strchr(word, ':') != NULL)
		fprintf(stderr,
		    "\"%s\" is not an option; an address is given with "
		    "--listen,\n--active or --backup\n",
		    word);
	else if (strspn(word, "0123456789") == strlen(word))
		fprintf(stderr,
		    "\"%s\" is not an option; a port is part of an address: "
		    "HOST:%s\n",
		    word, word);
	else if (is_control(word))
		fprintf(stderr,
		    "no command \"%s\"; \"tailorctl --help\" lists commands "
		    "for a\nrunning tailor; systemd or a signal starts or "
		    "ends one\n",
		    word);
	else
		fprintf(stderr,
		    "\"%s\" is not an option; give a configuration file with "
		    "-c FILE\nTry 'tailor --help'.\n",
		    word);
	exit(2);
}

/* What is no option but can be had, and keys without --set. */
static void
option_refuse(const struct option *plain, int option, char *const *argv)
{
	static const char *const others[][2] = {
	    {"--mode", "did you mean --set hedging.mode=watch?"},
	    {"--watch", "did you mean --set hedging.mode=watch?"},
	    {"--observe", "did you mean --set hedging.mode=watch?"},
	    {"--log-level", "did you mean --set log.level=info?"},
	    {"--threads", "one thread serves all; leave it out"},
	    {"--daemon", "it stays in the foreground; use systemd"},
	    {"-d", "it stays in the foreground; use systemd"},
	    {"-f", "did you mean -c?"}};
	const char *given = argv[optind - 1];
	size_t length = strcspn(given, "=");
	char why[256];

	usage_refusal(plain, option, argv, why, sizeof(why));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i][0]) == length &&
		    strncmp(others[i][0], given, length) == 0)
			snprintf(why, sizeof(why), "unknown option %s; %s",
			    others[i][0], others[i][1]);
	if (strncmp(given, "--", 2) == 0 && memchr(given, '.', length) != NULL)
		snprintf(why, sizeof(why),
		    "a key is set by --set KEY=VALUE: --set %.200s", given + 2);
	fprintf(stderr, "tailor: %s\nTry 'tailor --help'.\n", why);
	exit(2);
}

void
settings_parse(struct settings *s, int argc, char **argv)
{
	struct option plain[OPTIONS + 1] = {{0}};
	int option;

	for (size_t i = 0; i < OPTIONS; i++)
		plain[i] = options[i].option;
	opterr = 0;
	while (
	    (option = getopt_long(argc, argv, ":c:tTVh", plain, NULL)) != -1) {
		if (option == '?' || option == ':')
			option_refuse(plain, option, argv);
		option_apply(s, option);
	}
	if (optind < argc)
		word_refuse(argv[optind]);
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
