/* command.c: the command line of `tailor borrow`. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cgroup.h"
#include "base/command_line.h"
#include "base/file.h"
#include "base/instant.h"
#include "base/topology.h"
#include "borrow/borrow.h"
#include "borrow/group.h"
#include "borrow/guard.h"
#include "borrow/job.h"
#include "lanes/lanes.h"
#include "talechain/talechain_borrow.h"

#define STATUS_FAILED 125
#define STATUS_DENIED 126
#define STATUS_MISSING 127
#define LANES_TEXT 256

struct borrow_command {
	int64_t pid; /* 0: none */
	const char *cpus, *pairs;
	int64_t budget_ns;
	bool dry, quiet;
};

/* How the program is run. */
struct loan {
	struct idle_group group;
	cpu_set_t lanes;
	bool paired;
	struct lanes_pairs pairs; /* if paired, the next as well */
	struct lanes *words;
	int64_t budget_ns;
};

#define AT(member) .at = offsetof(struct borrow_command, member)
static const struct option_row rows[] = {
    {"cpus", 0, "LIST",
	"the CPUs to run on: 0-3,8 (default: all that may be used)",
	option_text, AT(cpus), .values = ""},
    {"pid", 0, "PID", "run on the CPUs of this process", option_number, AT(pid),
	.low = 1, .high = INT32_MAX, .values = ""},
    {"pairs", 0, "PAIRS",
	"on the second CPU while the first is idle: 0:1,2:3 or auto",
	option_text, AT(pairs), .values = ""},
    {"budget", 0, "TIME",
	"with --pairs: also for this long once the first is busy",
	option_duration, AT(budget_ns), .high = NS_PER_S,
	.wants = "a time of at most 1 s, as 2ms", .values = ""},
    {"dry-run", 'n', NULL, "only print what would be done", option_flag,
	AT(dry)},
    {"quiet", 'q', NULL, "do not print at the end what was lent", option_flag,
	AT(quiet)},
};

static const struct line_command commands[] = {
    {"", "COMMAND...", "run it", NULL},
};

static const struct command_line line = {
    .program = "tailor borrow",
    .about = "Runs COMMAND in the CPU time that everything else leaves over:\n"
	     "a thread of any other group that wakes preempts it at once.",
    .end = "\nExit status: COMMAND's; 125 if it was not begun, 126 if it\n"
	   "cannot be executed, 127 if it is not found.\n"
	   "See tailor-borrow(1).",
    .command = commands,
    .commands = COUNT(commands),
    .row = rows,
    .rows = COUNT(rows),
};

static void
complain(const char *what, const char *why, const char *fix)
{
	fprintf(stderr, "tailor borrow: %s%s%s%s%s\n", what, *why ? ": " : "",
	    why, *fix ? "; " : "", fix);
}

/* The CPUs on which any thread of a process may run.  0 or a negative errno. */
static int
lanes_of(pid_t pid, cpu_set_t *out)
{
	char path[32];
	struct dirent *e;
	cpu_set_t one;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (d == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	CPU_ZERO(out);
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' &&
		    sched_getaffinity((pid_t)strtol(e->d_name, NULL, 10),
			sizeof(one), &one) == 0)
			CPU_OR(out, out, &one);
	closedir(d);
	return CPU_COUNT(out) > 0 ? 0 : -ESRCH;
}

/* True if the CPUs are online, and we may run on those that borrow. */
static bool
pairs_usable(const struct lanes_pairs *p, const cpu_set_t *own)
{
	char cpus[4096], list[LANES_TEXT];
	cpu_set_t online, used;

	CPU_AND(&used, &p->borrows, own);
	if (!CPU_EQUAL(&used, &p->borrows)) {
		complain("not all CPUs that are to borrow may be used here; "
			 "those that may are",
		    topology_format_cpus(own, list, sizeof(list)), "");
		return false;
	}
	if (!file_read_line(
		cpus, sizeof(cpus), "/sys/devices/system/cpu/online") ||
	    topology_parse_cpus(cpus, &online) < 0)
		return true;
	CPU_AND(&used, &p->lends, &online);
	if (CPU_EQUAL(&used, &p->lends))
		return true;
	complain("not all CPUs that are to lend are online; those that are",
	    cpus, "");
	return false;
}

/* Find the lanes that lend, and those to run on.  0 or -EINVAL. */
static int
pairs_find(const struct borrow_command *c, struct loan *l, const cpu_set_t *own)
{
	cpu_set_t lends = l->lanes;
	struct topology *t = NULL;
	char why[LANES_WHY];
	int err;

	if (strcmp(c->pairs, "auto") != 0) {
		err = lanes_pairs_parse(&l->pairs, c->pairs, why);
	} else {
		err = topology_open(&t, NULL);
		snprintf(why, sizeof(why), "the CPUs: %s", strerror(-err));
		if (err == 0)
			err = lanes_pairs_beside(&l->pairs, t, &lends, why);
		topology_close(&t);
	}
	if (err < 0) {
		complain(why, "", "");
		return err;
	}
	l->paired = true;
	l->lanes = l->pairs.borrows;
	return pairs_usable(&l->pairs, own) ? 0 : -EINVAL;
}

/* Find where to run.  False after saying what is wrong. */
static bool
lanes_find(const struct borrow_command *c, struct loan *l)
{
	cpu_set_t own, *out = &l->lanes;
	char mine[LANES_TEXT];
	int err = 0;

	if (sched_getaffinity(0, sizeof(own), &own) < 0) {
		complain("own CPUs", strerror(errno), "");
		return false;
	}
	*out = own;
	if (c->cpus != NULL)
		err = topology_parse_cpus(c->cpus, out);
	else if (c->pid != 0)
		err = lanes_of((pid_t)c->pid, out);
	if (err < 0 && c->cpus != NULL) {
		complain(c->cpus, "not a list of CPUs", "give one like 0-3,8");
		return false;
	}
	if (err < 0) {
		complain("--pid", strerror(-err), "give a running process");
		return false;
	}
	if (c->pairs != NULL && pairs_find(c, l, &own) < 0)
		return false;
	CPU_AND(out, out, &own);
	if (CPU_COUNT(out) > 0)
		return true;
	complain("none of these CPUs may be used here; those that may are",
	    topology_format_cpus(&own, mine, sizeof(mine)), "");
	return false;
}

/* In the new process. */
static int
enter(void *user)
{
	static const struct sched_param none = {0};
	struct loan *l = user;
	int err;

	/* A real-time thread may not enter the group. */
	if (sched_setscheduler(0, SCHED_IDLE, &none) < 0)
		return -errno;
	err = group_join(&l->group);
	if (err < 0)
		return err;
	if (sched_setaffinity(0, sizeof(l->lanes), &l->lanes) < 0)
		return -errno;
	if (!l->paired)
		return 0;
	lanes_pass_on(l->words);
	usleep(1); /* what a thread is, lanes/ sees as it gets a CPU */
	return 0;
}

static const char *
brake_text(const struct idle_group *g)
{
	switch (g->brake) {
	case GROUP_IDLE:
		return "cpu.idle: a thread of any other group preempts at once";
	case GROUP_WEIGHT:
		return "the lowest weight: others get most of a shared CPU";
	case GROUP_NONE:
		break;
	}
	return "none";
}

static const char *
nap_text(void)
{
	switch (talechain_nap_find()) {
	case TALECHAIN_NAP_UMWAIT:
		return "with umwait";
	case TALECHAIN_NAP_MWAITX:
		return "with mwaitx";
	case TALECHAIN_NAP_PAUSE:
		break;
	}
	return "with pause, which takes some of the core: "
	       "this CPU has no umwait or mwaitx";
}

static void
dry_print(const struct loan *l, const struct group_place *place)
{
	char lanes[LANES_TEXT];

	printf("CPUs   %s\n",
	    topology_format_cpus(&l->lanes, lanes, sizeof(lanes)));
	printf("brake  %s\n", brake_text(&l->group));
	if (l->group.why[0] != '\0')
		printf("       not a better one: %s; %s\n", l->group.why,
		    l->group.fix);
	if (l->group.brake != GROUP_NONE)
		printf("group  %s (cgroup v%u)%s\n", l->group.path,
		    place->version,
		    place->contained ? ", beside those of this container only"
				     : "");
	if (l->paired)
		printf("guard  naps while CPU %s is busy, woken by its task "
		       "switches; %s\n",
		    topology_format_cpus(&l->pairs.lends, lanes, sizeof(lanes)),
		    nap_text());
	printf("lent   %s\n", group_cpu_ns(&l->group) >= 0
				  ? "is counted by the kernel for the group"
				  : "is counted of processes that have ended");
}

/* Of the time for which the lanes beside were busy, the part in which batch
 * work ran. */
static void
overlap_print(const struct loan *l)
{
	struct lanes_sums all = {0}, s;
	char lends[LANES_TEXT];
	int cores = 0;

	for (int i = 0; i < TALECHAIN_LANES; i++) {
		if (!CPU_ISSET((size_t)i, &l->pairs.borrows) ||
		    l->pairs.core[i] != i)
			continue;
		cores++;
		s = lanes_sums(lanes_words(l->words), lanes_askers(l->words), i,
		    instant_now().ns);
		all.busy_ns += s.busy_ns;
		all.beside_ns += s.beside_ns;
		all.napped_ns += s.napped_ns;
	}
	fprintf(stderr,
	    "tailor borrow: CPU %s was busy for %.2f s; beside it the command "
	    "ran for %.1f %% of that\n",
	    topology_format_cpus(&l->pairs.lends, lends, sizeof(lends)),
	    (double)all.busy_ns * cores / CPU_COUNT(&l->pairs.borrows) /
		NS_PER_S,
	    all.busy_ns > 0
		? 100 * fmax((double)(all.beside_ns - all.napped_ns), 0) /
		      (double)all.busy_ns
		: 0);
}

static void
end_print(const struct loan *l, const struct job_end *end, int64_t cpu_ns)
{
	double wall_s = (double)end->wall_ns / NS_PER_S;

	fprintf(stderr, "tailor borrow: lent %.2f of %d CPUs for %.3g s\n",
	    end->wall_ns > 0 ? (double)cpu_ns / (double)end->wall_ns : 0,
	    CPU_COUNT(&l->lanes), wall_s);
	if (l->paired)
		overlap_print(l);
}

/* Have tailorctl print what that time cost the requests of a running tailor.
 * Nothing is printed if none runs, if it has no accounts, or if the group is
 * held: tailorctl runs in it. */
static void
cost_print(struct loan *l, const struct job_end *end)
{
	char program[PATH_MAX], since[32];
	sigset_t none;
	pid_t pid;
	int null;

	if (group_is_held(&l->group) ||
	    !file_beside("tailorctl", program, sizeof(program)))
		return;
	snprintf(
	    since, sizeof(since), "%.3fs", (double)end->wall_ns / NS_PER_S);
	pid = fork();
	if (pid != 0) {
		while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (enter(l) == 0 && null >= 0 && dup2(STDERR_FILENO, 1) == 1 &&
	    dup2(null, STDERR_FILENO) == STDERR_FILENO)
		execl(program, program, "borrow", "--since", since, NULL);
	_exit(STATUS_MISSING);
}

static int
run(struct loan *l, char **argv, bool quiet)
{
	struct lane_guard *guard = NULL;
	struct guard_view view;
	struct job_end end = {0};
	int entered = 0, err = 0;
	int64_t before_ns = group_cpu_ns(&l->group), cpu_ns;
	unsigned left;

	if (l->paired) {
		view = (struct guard_view){lanes_words(l->words),
		    lanes_askers(l->words), lanes_guarded(l->words), lanes_wait,
		    lanes_end, l->words};
		err = guard_start(&guard, &view, &l->pairs, l->budget_ns);
	}
	if (err == 0)
		err = job_run(argv, enter, l, &end, &entered);
	cpu_ns = group_cpu_ns(&l->group) - (before_ns > 0 ? before_ns : 0);
	guard_stop(&guard);
	if (err == 0 && !quiet) {
		end_print(l, &end, cpu_ns >= 0 ? cpu_ns : end.cpu_ns);
		/* Costs are known by the second. */
		if (end.wall_ns >= NS_PER_S)
			cost_print(l, &end);
	}
	left = group_remove(&l->group);
	if (left > 0)
		fprintf(stderr,
		    "tailor borrow: %u of its processes still run, in the "
		    "group%s\n",
		    left, l->paired ? ", also beside busy CPUs" : "");
	if (err == 0)
		job_exit(end.status);
	if (!entered) {
		complain("cannot set it up", strerror(-err), "");
		return STATUS_FAILED;
	}
	complain(argv[0], strerror(-err), "");
	return err == -ENOENT ? STATUS_MISSING : STATUS_DENIED;
}

/* Returns 0, or -EINVAL with a sentence in why. */
static int
pairs_check(const struct borrow_command *c, char *why)
{
	const char *wrong = NULL;
	bool beside = c->pairs != NULL && strcmp(c->pairs, "auto") == 0;

	if (c->budget_ns != 0 && c->pairs == NULL)
		wrong = "--budget needs --pairs";
	else if (beside && c->pid == 0)
		wrong = "--pairs auto needs --pid, the service's";
	else if (c->pairs != NULL && !beside && c->pid + (c->cpus != NULL) > 0)
		wrong = "--pairs says where to run: no --cpus or --pid";
	else if (c->pairs != NULL && c->cpus != NULL)
		wrong = "--pairs auto is beside --pid: no --cpus";
	if (wrong == NULL)
		return 0;
	snprintf(why, LINE_WHY, "%s", wrong);
	return -EINVAL;
}

int
borrow_main(int argc, char **argv)
{
	static struct loan loan;
	static struct group_place place;
	struct borrow_command c = {0};
	struct line_words words;
	char why[LANES_WHY > LINE_WHY ? LANES_WHY : LINE_WHY];
	int err = line_parse(&line, &c, argc, argv, &words, why);

	if (err > 0)
		return 0;
	if (err == 0 && c.cpus != NULL && c.pid != 0) {
		snprintf(why, sizeof(why), "--cpus or --pid, not both");
		err = -EINVAL;
	}
	if (err == 0)
		err = pairs_check(&c, why);
	if (err < 0) {
		line_complain(&line, why);
		return STATUS_FAILED;
	}
	loan.budget_ns = c.budget_ns;
	words.word[words.count] = NULL; /* the words are moved in argv */
	if (!lanes_find(&c, &loan))
		return STATUS_FAILED;
	if (loan.paired && cgroup_cpu_idle("")) {
		complain("this shell is in a group with cpu.idle itself",
		    "as would be what keeps the command off busy CPUs",
		    "run tailor borrow in another");
		return STATUS_FAILED;
	}
	if (loan.paired && lanes_open(&loan.words, &loan.pairs, why) < 0) {
		complain("--pairs", why, "");
		return STATUS_FAILED;
	}
	group_find(&place, "");
	group_make(&loan.group, &place, getpid());
	if (c.dry) {
		dry_print(&loan, &place);
		group_remove(&loan.group);
		return fflush(stdout) == 0 ? 0 : STATUS_FAILED;
	}
	if (loan.group.brake == GROUP_NONE ||
	    (loan.paired && loan.group.brake != GROUP_IDLE)) {
		complain("nothing would hold it back", loan.group.why,
		    loan.group.fix);
		group_remove(&loan.group);
		return STATUS_FAILED;
	}
	if (loan.group.why[0] != '\0')
		complain("it is held back less well", loan.group.why,
		    loan.group.fix);
	return run(&loan, words.word, c.quiet);
}
