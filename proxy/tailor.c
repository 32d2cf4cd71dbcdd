/*
 * tailor.c: the program: options, configuration, and putting the threads
 * together.
 *
 * The main thread becomes the proxy thread.  All others are started with
 * signals blocked, so signals always arrive here.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/topology.h"
#include "config/config.h"
#include "profiler/profiler.h"
#include "proxy/analysis.h"
#include "proxy/placement.h"
#include "proxy/proxy.h"

#define PROXY_CHANNEL_LOG2 14 /* 16384 events: a second at 4000 requests/s */

enum {
	OPTION_LISTEN = 256,
	OPTION_ACTIVE,
	OPTION_BACKUP,
	OPTION_ADMIN,
	OPTION_SET,
	OPTION_MANUAL,
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
	"administrator's listener (unix:/path)"},
    {{"set", required_argument, NULL, OPTION_SET}, "KEY=VALUE",
	"set a key, as hedging.mode=watch (repeat)"},
    {{"test", no_argument, NULL, 't'}, NULL,
	"check the configuration: status 0 good"},
    {{"dump", no_argument, NULL, 'T'}, NULL,
	"print the effective configuration"},
    {{"manual", no_argument, NULL, OPTION_MANUAL}, NULL,
	"print the keys as a manual page (scdoc)"},
    {{"version", no_argument, NULL, 'V'}, NULL, "print the version and exit"},
    {{"help", no_argument, NULL, 'h'}, NULL, "print this and exit"},
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

static void
help(void)
{
	printf("Usage: tailor -c FILE\n"
	       "       tailor --listen ADDR --active ADDR [--backup ADDR]\n\n"
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
	printf("\nSee tailor(8) and tailor.conf(5).  Ask a running tailor "
	       "with tailorctl(1).\n");
}

struct settings {
	const char *file;
	bool test, dump;
	struct {
		const char *key, *value;
	} set[64];
	unsigned sets;
	char text[64][256];
};

static void
setting_add(struct settings *s, const char *key, const char *value)
{
	if (s->sets == 64) {
		fprintf(stderr, "tailor: more than 64 settings\n");
		exit(2);
	}
	s->set[s->sets].key = key;
	s->set[s->sets++].value = value;
}

static void
setting_split(struct settings *s, const char *text)
{
	const char *equals = strchr(text, '=');
	char *key = s->text[s->sets % 64];

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
		setting_add(s, "servers[0].address", optarg);
		break;
	case OPTION_BACKUP:
		setting_add(s, "servers[1].address", optarg);
		break;
	case OPTION_ADMIN:
		setting_add(s, "admin", optarg);
		break;
	case OPTION_SET:
		setting_split(s, optarg);
		break;
	case OPTION_MANUAL:
		print_manual();
		break;
	default:
		fprintf(stderr, "Try: tailor --help\n");
		exit(2);
	}
}

static void
options_parse(int argc, char **argv, struct settings *s)
{
	struct option plain[OPTIONS + 1] = {{0}};
	int option;

	for (size_t i = 0; i < OPTIONS; i++)
		plain[i] = options[i].option;
	while ((option = getopt_long(argc, argv, "c:tTVh", plain, NULL)) != -1)
		option_apply(s, option);
	if (optind < argc) {
		fprintf(stderr,
		    "tailor: %s: not understood; a configuration file is "
		    "given with -c\n",
		    argv[optind]);
		exit(2);
	}
}

/* File, then command line, then the check of the whole.  Says all that is
 * wrong and returns NULL if anything is. */
static struct config *
config_read(const struct settings *s)
{
	struct config_errors errors = {0};
	struct config *c = NULL;
	int err = s->file != NULL ? config_load(&c, s->file, &errors)
				  : config_new(&c);

	for (unsigned i = 0; err == 0 && i < s->sets; i++)
		if (config_set(c, s->set[i].key, s->set[i].value, &errors) < 0)
			err = -EINVAL;
	if (err == 0)
		err = config_check(c, &errors);
	for (unsigned i = 0; i < errors.count; i++)
		fprintf(stderr, "tailor: %s\n", errors.text[i]);
	config_errors_fini(&errors);
	if (err < 0)
		config_free(&c);
	return c;
}

static int
config_print(const struct config *c)
{
	struct json j;
	char *text;
	size_t length;

	json_init(&j, true);
	config_write(c, &j);
	if (json_take(&j, &text, &length) < 0)
		return 1;
	printf("%s\n", text);
	free(text);
	return 0;
}

/* Descriptors for every client, every server connection, and the rest. */
static void
raise_limits(const struct config *c)
{
	rlim_t want = c->proxy.connections_max + 256;
	struct rlimit l;

	for (unsigned i = 0; i < c->servers; i++)
		want += 2 * (rlim_t)c->server[i].connections_max +
			c->hedging.drain_connections;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
		return;
	l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_cur < want)
		log_event(LOG_LEVEL_WARNING, "few_descriptors",
		    "have=%llu want=%llu advice=\"raise the hard limit on "
		    "open files (LimitNOFILE, ulimit -Hn) or lower "
		    "proxy.connections_max\"",
		    (unsigned long long)l.rlim_cur, (unsigned long long)want);
}

static int
open_timeline(struct proxy *p, const struct config *c)
{
	unsigned log2 = 0;
	const char *path = c->profiler.stream;
	int err;

	while ((1U << log2) < c->profiler.stream_slots)
		log2++;
	p->stream_path = path != NULL ? path : "";
	err = timeline_new(
	    &p->timeline, *p->stream_path != '\0' ? path : NULL, log2);
	if (err < 0 && *p->stream_path != '\0') {
		log_event(LOG_LEVEL_WARNING, "stream_private",
		    "path=\"%s\" error=\"%s\" advice=\"tailorctl log cannot "
		    "follow this tailor: set profiler.stream to a file in "
		    "/dev/shm\"",
		    path, strerror(-err));
		p->stream_path = "";
		err = timeline_new(&p->timeline, NULL, log2);
	}
	return err;
}

static int
open_profiler(struct proxy *p, const struct config *c)
{
	struct profiler_options o = {
	    .timeline = p->timeline,
	    .channels_max = c->profiler.channels_max,
	    .blind_ns = c->profiler.blind_ns,
	    .servers = c->servers,
	    .channel_socket = *c->profiler.channel_socket != '\0'
				  ? c->profiler.channel_socket
				  : NULL,
	};
	int err;

	placement_observer(p, &o);
	for (unsigned i = 0; i < c->servers; i++) {
		const struct config_server *s = &c->server[i];

		o.server[i].name = s->name;
		if (s->argc == 0)
			o.server[i].address = s->address.address;
		o.server[i].hsperfdata = s->jvm == CONFIG_JVM_AUTO ||
					 s->jvm == CONFIG_JVM_HSPERFDATA;
		o.server[i].agent =
		    s->jvm == CONFIG_JVM_AUTO || s->jvm == CONFIG_JVM_AGENT;
	}
	err = profiler_new(&p->profiler, &o);
	if (err < 0)
		return err;
	return profiler_channel(p->profiler, "proxy", TALECHAIN_KIND_PROXY,
	    PROXY_CHANNEL_LOG2, &p->events);
}

static int
serve(const struct config *c)
{
	struct proxy *p = calloc(1, sizeof(*p));
	int err;

	if (p == NULL)
		return -ENOMEM;
	p->config = c;
	placement_plan(p);
	raise_limits(c);
	err = open_timeline(p, c);
	if (err == 0)
		err = open_profiler(p, c);
	if (err == 0)
		err = analysis_new(&p->analysis, p->timeline, c->slow.keep);
	if (err == 0)
		err = profiler_start(p->profiler);
	if (err == 0)
		err = proxy_init(p, c);
	if (err == 0) {
		sigset_t none;

		placement_proxy(p);
		sigemptyset(&none);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		err = proxy_run(p);
	}
	if (err < 0)
		log_event(
		    LOG_LEVEL_ERROR, "failed", "error=\"%s\"", strerror(-err));
	proxy_fini(p);
	analysis_free(&p->analysis);
	profiler_free(&p->profiler);
	timeline_free(&p->timeline);
	free(p);
	return err;
}

int
main(int argc, char **argv)
{
	static struct settings settings;
	struct config *config;
	sigset_t all;
	int err;

	options_parse(argc, argv, &settings);
	config = config_read(&settings);
	if (config == NULL)
		return 1;
	if (settings.dump || settings.test) {
		err = settings.dump ? config_print(config) : 0;
		config_free(&config);
		return err;
	}
	signal(SIGPIPE, SIG_IGN);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	err = log_open((enum log_level)config->log.level,
	    (enum log_format)config->log.format);
	if (err == 0)
		err = serve(config);
	log_close();
	config_free(&config);
	return err < 0 ? 1 : 0;
}
