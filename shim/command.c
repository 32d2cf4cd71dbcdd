/* command.c: the command line of `tailor shim`.
 *
 * One table makes getopt's options and --help. */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/instant.h"
#include "base/topology.h"
#include "base/usage.h"
#include "shim/shim.h"
#include "shim/observe.h"

#define SECONDS_MAX 86400
#define STATUS_FAILED 1
#define STATUS_USAGE 2

struct command {
	struct observe_options observe;
	bool help;
	long pid, cpu, on, period, interval_ms, top;
	long seconds; /* 0: not given */
};

#define AT(member) offsetof(struct command, member)

static const struct shim_option {
	struct option option;
	const char *argument, *meaning;
	enum { FLAG, TEXT, NUMBER, SIGNAL } kind;
	size_t at;	/* the member that is set */
	long low, high; /* of a number */
} table[] = {
    {{"pid", required_argument, NULL, 'p'}, "PID",
	"observe this process, all its threads", NUMBER, AT(pid), 1, INT32_MAX},
    {{"cpu", required_argument, NULL, 'C'}, "N", "observe this CPU", NUMBER,
	AT(cpu), 0, CPU_SETSIZE - 1},
    {{"signal", required_argument, NULL, 's'}, "SPEC",
	"counter:NAME, neighbour:NAME, jvm:NAME, word:FILE:OFFSET", SIGNAL, 0,
	0, 0},
    {{"tag", required_argument, NULL, 'g'}, "SPEC",
	"word:FILE:OFFSET, or task: rates by its value", TEXT, AT(observe.tag),
	0, 0},
    {{"period", required_argument, NULL, 'P'}, "CYCLES",
	"least distance of samples (default 0: none)", NUMBER, AT(period), 0,
	1000000000},
    {{"seconds", required_argument, NULL, 'd'}, "S", "how long (default 5)",
	NUMBER, AT(seconds), 1, SECONDS_MAX},
    {{"on", required_argument, NULL, 'o'}, "N", "sample from this CPU", NUMBER,
	AT(on), 0, CPU_SETSIZE - 1},
    {{"top", required_argument, NULL, 'n'}, "N", "tags shown (default 20)",
	NUMBER, AT(top), 1, 64},
    {{"live", no_argument, NULL, 'l'}, NULL, "update every second", FLAG,
	AT(observe.live), 0, 0},
    {{"csv", required_argument, NULL, 'c'}, "FILE", "rates over time", TEXT,
	AT(observe.csv), 0, 0},
    {{"chrome", required_argument, NULL, 'x'}, "FILE",
	"rates over time for Perfetto (Chrome trace)", TEXT, AT(observe.chrome),
	0, 0},
    {{"interval", required_argument, NULL, 'i'}, "MS",
	"of rates over time (default 10)", NUMBER, AT(interval_ms), 1, 60000},
    {{"json", no_argument, NULL, 'j'}, NULL, "print JSON", FLAG,
	AT(observe.json), 0, 0},
    {{"help", no_argument, NULL, 'h'}, NULL, "print this and exit", FLAG,
	AT(help), 0, 0},
};

#define OPTIONS (sizeof(table) / sizeof(table[0]))

static void
help(void)
{
	char name[40];

	printf("Usage: tailor shim [PID | --pid PID | --cpu N] "
	       "[--signal SPEC]...\n\n"
	       "Samples counters and words of shared memory as finely as this\n"
	       "machine allows, corrects rates for the time that reading\n"
	       "takes, and prints them in total and by tag.\n\n");
	for (size_t i = 0; i < OPTIONS; i++) {
		snprintf(name, sizeof(name), "--%s%s%s", table[i].option.name,
		    table[i].argument != NULL ? " " : "",
		    table[i].argument != NULL ? table[i].argument : "");
		printf("  %-18s %s\n", name, table[i].meaning);
	}
	printf("\nExit status: 0 success, 1 failure, 2 wrong usage.\n"
	       "See tailor-shim(1).\n");
}

/* An option that is a number.  False after saying what is wrong. */
static bool
number_take(const struct shim_option *o, const char *text, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	if (end != text && *end == '\0' && errno == 0 && *out >= o->low &&
	    *out <= o->high)
		return true;
	fprintf(stderr, "tailor shim: --%s %s: not a number in %ld..%ld\n",
	    o->option.name, text, o->low, o->high);
	return false;
}

/* One option with its argument.  False after saying what is wrong. */
static bool
option_take(struct command *c, const struct shim_option *o, const char *text)
{
	void *member = (char *)c + o->at;

	switch (o->kind) {
	case FLAG:
		*(bool *)member = true;
		return true;
	case TEXT:
		*(const char **)member = text;
		return true;
	case NUMBER:
		return number_take(o, text, member);
	case SIGNAL:
		break;
	}
	if (c->observe.signals == SAMPLER_SIGNALS) {
		fprintf(stderr, "tailor shim: at most %d signals at once\n",
		    SAMPLER_SIGNALS);
		return false;
	}
	c->observe.signal[c->observe.signals++] = text;
	return true;
}

/* The numbers, as the observation takes them. */
static void
numbers_use(struct command *c)
{
	struct observe_options *o = &c->observe;

	o->target.pid = (pid_t)c->pid;
	o->target.cpu = (int)c->cpu;
	o->on = (int)c->on;
	o->period = (uint64_t)c->period;
	o->top = (unsigned)c->top;
	o->interval_ns = c->interval_ms * NS_PER_MS;
	o->length_ns = (c->seconds > 0 ? c->seconds : 5) * NS_PER_S;
}

static bool
command_parse(struct command *c, int argc, char **argv)
{
	struct option options[OPTIONS + 1] = {0};
	char why[256];
	int letter, row = 0;

	for (size_t i = 0; i < OPTIONS; i++)
		options[i] = table[i].option;
	opterr = 0;
	*c =
	    (struct command){.cpu = -1, .on = -1, .top = 20, .interval_ms = 10};
	optind = 1;
	while ((letter = getopt_long(argc, argv, ":", options, &row)) != -1) {
		if (letter == '?' || letter == ':') {
			fprintf(stderr,
			    "tailor shim: %s\nTry 'tailor shim --help'.\n",
			    usage_refusal(
				options, letter, argv, why, sizeof(why)));
			return false;
		}
		if (!option_take(c, &table[row], optarg))
			return false;
	}
	if (optind < argc && c->pid == 0 &&
	    strspn(argv[optind], "0123456789") == strlen(argv[optind])) {
		/* The short form: tailor shim PID. */
		if (!number_take(&table[0], argv[optind++], &c->pid))
			return false;
	}
	if (optind < argc) {
		fprintf(stderr,
		    "tailor shim: \"%s\" is not a process's number\n(see "
		    "tailor shim --help)\n",
		    argv[optind]);
		return false;
	}
	if (c->pid > 0 && c->cpu >= 0) {
		fprintf(stderr, "tailor shim: --pid or --cpu, not both\n");
		return false;
	}
	if (!c->help && c->pid == 0 && c->cpu < 0 && c->observe.signals == 0) {
		fprintf(stderr, "tailor shim: nothing to observe; give --pid, "
				"--cpu or --signal (see --help)\n");
		return false;
	}
	numbers_use(c);
	return true;
}

static int
series_write(const struct observation *o, const char *path, bool chrome)
{
	struct json j;
	FILE *f = fopen(path, "we");
	int err = 0;

	if (f == NULL) {
		err = -errno;
		goto out;
	}
	if (chrome) {
		json_init(&j, false);
		series_chrome(&o->series, &j);
		err = json_print(&j, f);
	} else {
		series_csv(&o->series, f);
	}
	if (fclose(f) != 0 && err == 0)
		err = -errno;
out:
	if (err < 0)
		fprintf(stderr, "tailor shim: %s: %s\n", path, strerror(-err));
	return err;
}

static int
observe(const struct observe_options *options)
{
	static struct observation o;
	char why[SOURCE_WHY] = "";
	struct json j;
	int err = observe_run(&o, options, why);

	if (err < 0) {
		fprintf(stderr, "tailor shim: %s\n", why);
		goto out;
	}
	if (options->json) {
		json_init(&j, true);
		observe_json(&o, &j);
		err = json_print(&j, stdout);
	} else {
		observe_print(&o, options->live);
	}
	if (options->csv != NULL && series_write(&o, options->csv, false) < 0)
		err = -EIO;
	if (options->chrome != NULL &&
	    series_write(&o, options->chrome, true) < 0)
		err = -EIO;
out:
	observe_fini(&o);
	return err < 0 ? STATUS_FAILED : 0;
}

/* Whether the machine has that CPU, -1: none is meant.  False after saying
 * which there are. */
static bool
cpu_exists(long cpu)
{
	char online[256];
	cpu_set_t set;

	if (cpu < 0 ||
	    !file_read_line(
		online, sizeof(online), "/sys/devices/system/cpu/online") ||
	    topology_parse_cpus(online, &set) < 0 ||
	    CPU_ISSET((size_t)cpu, &set))
		return true;
	fprintf(stderr,
	    "tailor shim: there is no CPU %ld; those of this machine are %s\n",
	    cpu, online);
	return false;
}

int
shim_main(int argc, char **argv)
{
	struct command c;

	if (!command_parse(&c, argc, argv))
		return STATUS_USAGE;
	if (c.help) {
		help();
		return 0;
	}
	if (!cpu_exists(c.cpu) || !cpu_exists(c.on))
		return STATUS_FAILED;
	return observe(&c.observe);
}
