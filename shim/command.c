/* command.c: the command line of `tailor shim`. */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/command_line.h"
#include "base/file.h"
#include "base/instant.h"
#include "base/topology.h"
#include "shim/shim.h"
#include "shim/observe.h"

#define SECONDS_MAX 86400
#define STATUS_FAILED 1
#define STATUS_USAGE 2

struct shim_command {
	struct observe_options observe;
	int64_t pid, cpu, on, period, interval_ms, top;
	int64_t seconds; /* 0: not given */
};

static int
set_signal(void *to, const struct option_row *row, const char *text)
{
	struct observe_options *o = &((struct shim_command *)to)->observe;

	(void)row;
	if (o->signals == SAMPLER_SIGNALS)
		return -ENOSPC;
	o->signal[o->signals++] = text;
	return 0;
}

static const struct line_command commands[] = {
    {"", "[PID]", "observe a process or a CPU", NULL},
};

#define AT(member) .at = offsetof(struct shim_command, member)
#define NUMBER(member, lowest, highest)                                \
	option_number, AT(member), .low = (lowest), .high = (highest), \
				   .values = ""
/* clang-format off: an option a line, or two */
enum { PID }; /* index of --pid in rows */
static const struct option_row rows[] = {
    {"pid", 0, "PID", "observe this process, all its threads",
	NUMBER(pid, 1, INT32_MAX)},
    {"cpu", 0, "N", "observe this CPU", NUMBER(cpu, 0, CPU_SETSIZE - 1)},
    {"signal", 0, "SPEC",
	"counter:NAME, neighbour:NAME, jvm:NAME, word:FILE:OFFSET", set_signal,
	.wants = "one of at most 8 signals", .values = ""},
    {"tag", 0, "SPEC", "word:FILE:OFFSET, or task: rates by its value",
	option_text, AT(observe.tag), .values = ""},
    {"period", 0, "CYCLES", "least distance of samples (default 0: none)",
	NUMBER(period, 0, 1000000000)},
    {"seconds", 0, "S", "how long (default 5)",
	NUMBER(seconds, 1, SECONDS_MAX)},
    {"on", 0, "N", "sample from this CPU", NUMBER(on, 0, CPU_SETSIZE - 1)},
    {"top", 0, "N", "tags shown (default 20)", NUMBER(top, 1, 64)},
    {"live", 0, NULL, "update every second", option_flag, AT(observe.live)},
    {"csv", 0, "FILE", "rates over time", option_text, AT(observe.csv)},
    {"chrome", 0, "FILE", "rates over time for Perfetto (Chrome trace)",
	option_text, AT(observe.chrome)},
    {"interval", 0, "MS", "of rates over time (default 10)",
	NUMBER(interval_ms, 1, 60000)},
    {"json", 0, NULL, "print JSON", option_flag, AT(observe.json)},
};
/* clang-format on */

static const struct line_instead insteads[] = {
    {"-p", "did you mean --pid?"},
};

static bool
explain(const struct line_command *command, const char *word, char *why)
{
	(void)command;
	if (word[0] == '-')
		return false;
	snprintf(why, LINE_WHY, "\"%.60s\" is not a process's number", word);
	return true;
}

static const struct command_line line = {
    .program = "tailor shim",
    .about = "Samples counters and words of shared memory as finely as this\n"
	     "machine allows, corrects rates for the time that reading\n"
	     "takes, and prints them in total and by tag.",
    .end = "\nExit status: 0 success, 1 failure, 2 wrong usage.\n"
	   "See tailor-shim(1).",
    .command = commands,
    .commands = COUNT(commands),
    .row = rows,
    .rows = COUNT(rows),
    .instead = insteads,
    .insteads = COUNT(insteads),
    .explain = explain,
};

/* Copy the numbers of the options into the observation's options. */
static void
numbers_use(struct shim_command *c)
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

/* Check what the tables cannot express.  NULL, or what is wrong. */
static const char *
command_check(struct shim_command *c, const struct line_words *words)
{
	static char why[LINE_WHY];

	/* The short form: tailor shim PID. */
	if (words->count > 0 &&
	    (c->pid != 0 || option_number(c, &rows[PID], words->word[0]) < 0)) {
		explain(NULL, words->word[0], why);
		return why;
	}
	if (c->pid > 0 && c->cpu >= 0)
		return "--pid or --cpu, not both";
	if (c->pid == 0 && c->cpu < 0 && c->observe.signals == 0)
		return "nothing to observe; give --pid, --cpu or --signal";
	return NULL;
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

/* True if the machine has that CPU, or if cpu is -1 (none).  If false, the CPUs
 * that there are were printed. */
static bool
cpu_exists(long cpu)
{
	char online[4096];
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
	struct shim_command c = {
	    .cpu = -1, .on = -1, .top = 20, .interval_ms = 10};
	struct line_words words;
	char why[LINE_WHY];
	const char *wrong = why;
	int err = line_parse(&line, &c, argc, argv, &words, why);

	if (err > 0)
		return 0;
	if (err == 0)
		wrong = command_check(&c, &words);
	if (wrong != NULL) {
		line_complain(&line, wrong);
		return STATUS_USAGE;
	}
	numbers_use(&c);
	if (!cpu_exists(c.cpu) || !cpu_exists(c.on))
		return STATUS_FAILED;
	return observe(&c.observe);
}
