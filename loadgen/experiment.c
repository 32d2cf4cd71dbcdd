#include "loadgen/experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/file.h"
#include "loadgen/report/report.h"
#include "loadgen/send/plan.h"

#define PROGRESS_MS 250
#define PIN_MS 100
#define SPARE_FILES 64 /* of ours, besides connections */

static int
trouble(struct experiment *e, int err, const char *what)
{
	snprintf(e->why, sizeof(e->why), "%.200s: %s", what, strerror(-err));
	return err;
}

static int
open_outputs(struct experiment *e)
{
	const struct load_options *o = &e->options;
	const char *dir = o->output.out_dir;
	struct report *r = &e->report;
	int err;

	if (dir != NULL) {
		err = file_make_directory(dir, &e->made_dir);
		if (err < 0)
			return trouble(e, err, dir);
	}
	err = output_open(&r->json, o->output.json_path, dir, "run.json");
	if (err < 0)
		return trouble(e, err, r->json.path);
	err = output_open(
	    &r->requests, o->output.ndjson_path, dir, "requests.ndjson");
	return err < 0 ? trouble(e, err, r->requests.path) : 0;
}

/* Raise the limit on descriptors for all connections, if permitted. */
static int
raise_file_limit(struct experiment *e)
{
	rlim_t need = e->options.plan.max_connections + SPARE_FILES;
	struct rlimit r;

	/* The other one's connections stay open meanwhile. */
	if (e->shared != NULL)
		need += e->shared->options.plan.max_connections;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= need)
		return 0;
	r.rlim_cur = need < r.rlim_max ? need : r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < need) {
		snprintf(e->why, sizeof(e->why),
		    "--max-connections %llu needs %llu open files, but the "
		    "limit is %llu (ulimit -n)",
		    (unsigned long long)e->options.plan.max_connections,
		    (unsigned long long)need, (unsigned long long)r.rlim_max);
		return -EMFILE;
	}
	return 0;
}

static int
open_signals(struct experiment *e)
{
	sigset_t set;

	e->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (e->done_fd < 0)
		return -errno;
	if (e->shared != NULL) {
		e->signal_fd = fcntl(
		    e->shared->signal_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		return e->signal_fd < 0 ? -errno : 0;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* If the reader of one output ends, the other outputs continue. */
	signal(SIGPIPE, SIG_IGN);
	e->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return e->signal_fd < 0 ? -errno : 0;
}

static int
choose_cpus(struct experiment *e)
{
	const struct load_options *o = &e->options;
	int err;

	if (e->shared != NULL) {
		e->report.sender_cpus = e->shared->report.sender_cpus;
		e->other_cpus = e->shared->other_cpus;
		return 0;
	}
	err = host_choose_cpus(o->cpus_given ? &o->cpus : NULL,
	    &e->report.sender_cpus, &e->other_cpus);

	if (err < 0)
		return trouble(e, err, "--cpu: none of these CPUs is allowed");
	if (!o->pin)
		CPU_ZERO(&e->report.sender_cpus);
	if (CPU_COUNT(&e->report.sender_cpus) > 0)
		sched_setaffinity(0, sizeof(e->other_cpus), &e->other_cpus);
	return 0;
}

static int
first_cpu(const cpu_set_t *set)
{
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, set))
			return (int)cpu;
	}
	return -1;
}

/* Read the --arrivals file, which sets number, instants and mean rate. */
static int
read_trace(struct experiment *e)
{
	struct load_options *o = &e->options;
	size_t n;
	int err = trace_read(
	    o->arrivals_path, &e->trace_ns, &n, e->why, sizeof(e->why));

	if (err < 0)
		return err;
	o->plan.trace_ns = e->trace_ns;
	o->plan.requests = n;
	o->plan.rate_per_s =
	    (double)n * (double)NS_PER_S / (double)(e->trace_ns[n - 1] + 1);
	options_default_warmup(o);
	return 0;
}

int
experiment_open(struct experiment *e)
{
	const struct load_options *o = &e->options;
	const struct plan *plan = &o->plan;
	struct report *r = &e->report;
	uint64_t run;
	int err;

	r->options = &o->output;
	e->signal_fd = -1;
	e->done_fd = -1;
	if (plan->arrivals == ARRIVALS_FILE) {
		/* First: it sets how many requests there are. */
		err = read_trace(e);
		if (err < 0)
			return err;
	}
	err = target_open(
	    &r->target, o->url, o->urls_path, e->why, sizeof(e->why));
	if (err < 0)
		return err;
	/* Without randomness ids may repeat between runs: harmless. */
	if (getrandom(&run, sizeof(run), GRND_NONBLOCK) != sizeof(run))
		run = instant_now().ns;
	err = request_texts_open(
	    &r->texts, plan, &r->target, run, e->why, sizeof(e->why));
	if (err < 0)
		return err;
	err = analyzer_open(&e->analyzer, o, r, e->why, sizeof(e->why));
	if (err < 0)
		return err;
	err = choose_cpus(e);
	if (err < 0)
		return err;
	host_read(&r->host, first_cpu(&r->sender_cpus));
	err = raise_file_limit(e);
	if (err < 0)
		return err;
	err = open_signals(e);
	if (err < 0)
		return trouble(e, err, "signals");
	err = open_outputs(e);
	if (err < 0)
		return err;
	err = iteration_init(&r->iteration, plan);
	if (err == 0)
		err = summary_open(&r->summary, plan, &o->criteria);
	if (err == 0)
		err = sender_open(&e->sender, plan, &r->target, &r->texts);
	return err < 0 ? trouble(e, err, "preparing") : 0;
}

void
experiment_close(struct experiment *e)
{
	/* sender_open() may not have been reached: then it is all zero. */
	if (e->sender.plan != NULL)
		sender_close(&e->sender);
	analyzer_close(&e->analyzer);
	findings_fini(&e->report.findings);
	free(e->report.points.all);
	summary_close(&e->report.summary);
	iteration_fini(&e->report.iteration);
	request_texts_close(&e->report.texts);
	target_close(&e->report.target);
	/* The outputs are still open only if there is no result. */
	output_abandon(&e->report.json);
	output_abandon(&e->report.requests);
	if (!e->has_results && e->options.output.out_dir != NULL)
		file_remove_directory(e->options.output.out_dir, e->made_dir);
	free(e->trace_ns);
	if (e->signal_fd >= 0)
		close(e->signal_fd);
	if (e->done_fd >= 0)
		close(e->done_fd);
}

static void *
sender_main(void *argument)
{
	struct experiment *e = argument;
	struct iteration *it = &e->report.iteration;
	const uint64_t one = 1;

	if (!host_place_sender(&e->report.sender_cpus, e->options.real_time) &&
	    it->index == 1)
		fprintf(stderr, "tailor-load: --priority: not permitted; "
				"running without\n");
	if (it->index > 1 || e->pause_first)
		sender_pause(&e->sender, it, e->options.plan.pause_ns);
	e->prepare_err = sender_prepare(&e->sender);
	/* If connecting fails before the first iteration, there is nothing to
	 * measure; later the requests count such failures. */
	if (e->prepare_err == 0 || it->index > 1)
		sender_run(&e->sender, it);
	ssize_t n = write(e->done_fd, &one, sizeof(one));
	(void)n; /* cannot be full: it is read every iteration */
	return NULL;
}

static void
on_signal(struct experiment *e)
{
	struct signalfd_siginfo info;

	if (read(e->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (e->report.interrupted)
		_exit(EXIT_INTERRUPTED);
	e->report.interrupted = true;
	if (e->shared != NULL)
		e->shared->report.interrupted = true;
	sender_stop(&e->sender);
}

/* Wait for the sender thread, and show its progress. */
static void
watch_sender(struct experiment *e)
{
	struct pollfd fds[] = {{.fd = e->done_fd, .events = POLLIN},
	    {.fd = e->signal_fd, .events = POLLIN}};
	bool show = isatty(STDERR_FILENO) && !e->options.output.quiet;
	bool pin = !e->analyzer.off;
	uint64_t count;

	for (;;) {
		int n = poll(fds, 2, pin ? PIN_MS : show ? PROGRESS_MS : -1);
		if (n > 0 && (fds[1].revents & POLLIN) != 0)
			on_signal(e);
		if (n > 0 && (fds[0].revents & POLLIN) != 0)
			break;
		if (pin)
			analyzer_pin(&e->analyzer, &e->report.iteration);
		if (show)
			progress_show(
			    &e->report.iteration, e->options.plan.iterations);
	}
	if (read(e->done_fd, &count, sizeof(count)) < 0)
		return;
	if (show)
		progress_clear();
}

int
experiment_iterate(struct experiment *e, unsigned index)
{
	pthread_t thread;
	int err;

	iteration_plan(&e->report.iteration, &e->options.plan, index);
	analyzer_begin(&e->analyzer);
	err = -pthread_create(&thread, NULL, sender_main, e);
	if (err < 0)
		return trouble(e, err, "sender thread");
	watch_sender(e);
	pthread_join(thread, NULL);
	if (e->prepare_err == -EADDRNOTAVAIL && index == 1) {
		snprintf(e->why, sizeof(e->why), PORTS_USED_UP);
		return e->prepare_err;
	}
	if (e->prepare_err < 0 && index == 1)
		return trouble(e, e->prepare_err, e->report.target.url);
	if (e->report.interrupted &&
	    atomic_load(&e->report.iteration.progress.sent) == 0)
		return 0;
	err = summary_add(&e->report.summary, &e->report.iteration);
	if (err == 0 && !e->report.interrupted)
		err = analyzer_explain(&e->analyzer, &e->report.iteration,
		    &e->report.summary.iterations[e->report.summary.count - 1]
			 .slow);
	if (err == 0)
		err = report_requests(&e->report);
	return err < 0 ? trouble(e, err, "results") : 0;
}

void
experiment_share(struct experiment *e, struct experiment *other)
{
	e->shared = other;
	e->pause_first = true;
}

bool
experiment_interrupted(const struct experiment *e)
{
	return e->report.interrupted ||
	       (e->shared != NULL && e->shared->report.interrupted);
}

void
experiment_begin(struct experiment *e)
{
	e->report.started_ns = instant_wall_now_ns();
	e->report.epoch = instant_now();
}

int
experiment_end(struct experiment *e)
{
	e->report.interrupted = experiment_interrupted(e);
	summary_finish(&e->report.summary);
	verdict_reach(&e->report.verdict, &e->report.summary);
	environment_describe(&e->report.environment, &e->report.host,
	    &e->report.sender_cpus, target_is_local(&e->report.target),
	    e->report.summary.count > 0
		? (double)e->report.verdict.involuntary_switches /
		      (double)e->report.summary.count
		: 0);
	environment_advise(&e->report.environment, &e->options.plan,
	    &e->report.verdict, e->options.real_time);
	if (e->report.summary.failed_errno[OUTCOME_CONNECT][EADDRNOTAVAIL] > 0)
		environment_ports_used_up(&e->report.environment);
	e->has_results = true;
	if (e->report.summary.outcomes[OUTCOME_OK] == 0 &&
	    !e->report.interrupted) {
		snprintf(e->why, sizeof(e->why),
		    "%s: not one of %zu requests succeeded",
		    e->report.target.url, e->report.summary.sent);
		return -EIO;
	}
	return 0;
}

int
experiment_run(struct experiment *e)
{
	experiment_begin(e);
	for (unsigned k = 1; k <= e->options.plan.iterations; k++) {
		int err = experiment_iterate(e, k);
		if (err < 0)
			return err;
		if (experiment_interrupted(e))
			break;
	}
	return experiment_end(e);
}

bool
stdout_failed(void)
{
	return fflush(stdout) != 0 || ferror(stdout);
}

void
complain(const char *why)
{
	fprintf(stderr, "tailor-load: %s\n", why);
}

/* --- the end -------------------------------------------------------------- */

static int
write_page(struct experiment *e)
{
	char path[4096];
	FILE *out;
	int err;

	snprintf(
	    path, sizeof(path), "%s/report.html", e->options.output.out_dir);
	out = fopen(path, "we");
	if (out == NULL)
		return -errno;
	err = page_write(out, &e->report);
	return fclose(out) != 0 && err == 0 ? -EIO : err;
}

int
finish_write(struct experiment *e, bool text)
{
	const struct load_options *o = &e->options;
	struct json j;
	int err = 0;

	if (output_is_wanted(&e->report.json)) {
		json_init(&j, true);
		report_json(&e->report, &j);
		err = output_json(&e->report.json, &j);
	}
	if (text && !o->output.quiet && !o->output.on_stdout)
		report_text(stdout, &e->report);
	if (output_close(&e->report.json) < 0)
		err = -EIO;
	if (output_close(&e->report.requests) < 0)
		err = -EIO;
	if (stdout_failed())
		err = -EIO;
	return err == 0 && o->output.out_dir != NULL ? write_page(e) : err;
}

static bool
expectations_hold(struct experiment *e)
{
	bool hold = true;
	double actual;

	for (unsigned i = 0; i < e->options.criteria.fail_count; i++) {
		const struct expectation *x = &e->options.criteria.fails[i];
		if (summary_actual(&e->report.summary, x, &actual) &&
		    expectation_holds(x, actual))
			continue;
		hold = false;
		if (e->options.output.quiet)
			fprintf(stderr, "tailor-load: not met: %s\n", x->text);
	}
	return hold;
}

enum exit_code
finish_judge(struct experiment *e)
{
	bool hold = expectations_hold(e);

	if (e->report.interrupted)
		return EXIT_INTERRUPTED;
	if (e->report.verdict.level == VERDICT_BAD) {
		complain("the figures are mostly the generator's own "
			 "lateness; do not use them");
		return EXIT_BAD_GENERATOR;
	}
	return hold ? EXIT_DONE : EXIT_EXPECTATION_FAILED;
}
