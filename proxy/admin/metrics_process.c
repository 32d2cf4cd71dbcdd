/* metrics_process.c: writes the metrics of the process, its observer and its
 * tales. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "proxy/access_log/access_log.h"
#include "proxy/admin/admin_reports.h"
#include "proxy/analysis/analysis.h"
#include "proxy/request/proxy.h"
#include "talechain/timeline/timeline.h"

/* Write the histogram of times between sweeps, in powers of two of a ns. */
static void
write_periods(struct exposition *e, const struct profiler_stats *s)
{
	uint64_t sum = 0;

	exposition_family(e, "tailor_profiler_period_seconds");
	for (unsigned i = 0; i < PROFILER_PERIODS - 1; i++) {
		char edge[EXPOSITION_SECONDS];

		sum += s->cost.period[i];
		if (i < 5) /* no sweep takes less than 32 ns */
			continue;
		exposition_seconds(UINT64_C(1) << i, edge);
		exposition_part(e, "_bucket", LABELS({"le", edge}), sum);
	}
	sum += s->cost.period[PROFILER_PERIODS - 1];
	exposition_part(e, "_bucket", LABELS({"le", "+Inf"}), sum);
	exposition_part_ns(e, "_sum", NULL, s->cost.periods_ns);
	exposition_part(e, "_count", NULL, sum);
}

/* Write the cost of the observer's sweeps, in total and by source. */
static void
write_self(struct exposition *e, const struct profiler_stats *s)
{
	double timed = s->cost.timed > 0 ? (double)s->cost.timed : 1;

	write_periods(e, s);
	exposition_counter(
	    e, "tailor_profiler_sweeps_timed_total", s->cost.timed);
	exposition_family(e, "tailor_profiler_sweep_cycles_total");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		exposition_sample(e, LABELS({"source", profiler_part_name(i)}),
		    s->cost.cycles[i]);
	exposition_family(e, "tailor_profiler_sweep_mean_cycles");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		text_add(&e->text,
		    "tailor_profiler_sweep_mean_cycles{source=\"%s\"} %.1f\n",
		    profiler_part_name(i), (double)s->cost.cycles[i] / timed);
	exposition_family(e, "tailor_profiler_cpu_seconds_total");
	exposition_sample_ns(e, NULL, s->cpu_ns);
	exposition_gauge(e, "tailor_profiler_resting", s->resting);
	exposition_counter(e, "tailor_profiler_rests_total", s->rests);
	exposition_counter(e, "tailor_profiler_wakes_total", s->wakes);
	exposition_family(e, "tailor_profiler_blind_seconds_total");
	exposition_sample_ns(e, NULL, s->blind_ns);
}

static void
write_turns(
    struct proxy *p, const struct profiler_stats *s, struct exposition *e)
{
	exposition_family(e, "tailor_thread_turns_total");
	exposition_sample(e, LABELS({"thread", "proxy"}), p->loop.turns);
	exposition_sample(e, LABELS({"thread", "observer"}), s->sweeps);
	exposition_sample(e, LABELS({"thread", "attach"}), s->attach_turns);
	exposition_sample(e, LABELS({"thread", "analysis"}),
	    atomic_load(&analysis_seen(p->analysis).stats->turns));
}

void
metrics_write_profiler(struct proxy *p, struct exposition *e)
{
	struct profiler_stats s;

	profiler_stats(p->profiler, &s);
	write_turns(p, &s, e);
	exposition_counter(e, "tailor_profiler_samples_total", s.sweeps);
	exposition_counter(e, "tailor_profiler_events_total", s.events);
	exposition_counter(e, "tailor_profiler_lost_total", s.lost);
	exposition_counter(e, "tailor_profiler_torn_total", s.torn);
	exposition_counter(e, "tailor_profiler_abandoned_total", s.abandoned);
	exposition_counter(e, "tailor_channel_errors_total", s.rejected);
	exposition_counter(e, "tailor_pauses_dropped_total", s.hazards_lost);
	exposition_family(e, "tailor_kernel_unsampled_seconds_total");
	exposition_sample_ns(e, NULL, s.kernel_unsampled_ns);
	exposition_counter(e, "tailor_kernel_missed_total", s.kernel_missed);
	exposition_counter(
	    e, "tailor_kernel_switches_unseen_total", s.kernel_unseen);
	exposition_counter(
	    e, "tailor_kernel_threads_refused_total", s.kernel_crowded);
	exposition_counter(
	    e, "tailor_kernel_stacks_left_out_total", s.kernel_stackless);
	exposition_counter(
	    e, "tailor_kernel_sums_left_out_total", s.kernel_unsummed);
	exposition_counter(e, "tailor_peers_refused_total", s.peers_refused);
	exposition_counter(e, "tailor_peers_busy_total", s.peers_busy);
	exposition_counter(e, "tailor_code_maps_total", s.code_maps);
	exposition_counter(
	    e, "tailor_code_maps_failed_total", s.code_maps_failed);
	exposition_counter(
	    e, "tailor_processes_refused_total", s.processes_refused);
	exposition_family(e, "tailor_server_processes");
	UPSTREAM_EACH(&p->upstream, i)
	exposition_sample(e,
	    LABELS({"server", p->upstream.server[i].config->name}),
	    s.server[i].processes);
	exposition_counter(e, "tailor_profiler_blind_total", s.blind);
	exposition_gauge(e, "tailor_profiler_blind_max_seconds",
	    (double)s.blind_max_ns / 1e9);
	write_self(e, &s);
	exposition_counter(e, "tailor_profiler_rates_total", s.rates);
	exposition_counter(
	    e, "tailor_profiler_rates_dropped_total", s.rates_dropped);
	exposition_family(e, "tailor_host_steal_seconds_total");
	exposition_sample_ns(e, NULL, s.stolen_ns);
	exposition_gauge(e, "tailor_channels", s.channels);
	exposition_counter(
	    e, "tailor_channels_refused_total", s.channels_refused);
}

/* Write a family with a counter for each cause. */
static void
by_cause(struct exposition *e, const char *name, const _Atomic uint64_t *value,
    double unit)
{
	exposition_family(e, name);
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		text_add(&e->text, "%s{cause=\"%s\"} %.9g\n", name,
		    tale_cause_code((enum tale_cause)i),
		    (double)value[i] / unit);
}

/* Write a sample unless it is 0: there are many classes, which are not known in
 * advance. */
static void
class_write(
    struct exposition *e, const char *class, unsigned cause, uint64_t ns)
{
	if (ns > 0)
		exposition_sample_ns(e,
		    LABELS({"class", class},
			{"cause", tale_cause_code((enum tale_cause)cause)}),
		    ns);
}

/* Write the time by class and cause; routes that lost their place count as
 * "other".  A sample of a place that is being lost may be missing once; the sum
 * of all samples never falls. */
static void
by_class(struct proxy *p, struct exposition *e)
{
	const struct accounts *a = analysis_seen(p->analysis).accounts;
	const struct routes *r = analysis_seen(p->analysis).routes;

	exposition_family(e, "tailor_request_cause_seconds_total");
	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++) {
		uint64_t other = atomic_load(&a->cause_ns[ROUTE_OTHER][c]);

		for (unsigned i = ROUTE_OTHER + 1; i < ROUTE_PLACES; i++) {
			enum route_state state = routes_state(r, i);
			uint64_t ended = atomic_load(&a->ended_ns[i][c]);
			uint64_t all = atomic_load(&a->cause_ns[i][c]);

			if (state == ROUTE_FREE)
				ended = all;
			other += ended;
			class_write(e, r->place[i].name, c, all - ended);
		}
		class_write(e, ROUTE_OTHER_NAME, c, other);
	}
}

/* Write the shares of p99 by class and cause, without shares of 0 and classes
 * without figures. */
static void
write_tail(struct proxy *p, struct exposition *e)
{
	static const char name[] = "tailor_tail_cause_seconds";
	const struct routes *r = analysis_seen(p->analysis).routes;
	const struct tail *t = analysis_seen(p->analysis).tail;

	exposition_family(e, name);
	for (unsigned i = 0; i < ROUTE_PLACES; i++)
		for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++) {
			int64_t ns = atomic_load(&t->share_ns[i][c]);

			if (ns > 0)
				exposition_sample_ns(e,
				    LABELS({"class", r->place[i].name},
					{"quantile", TAIL_NAME},
					{"cause", tale_cause_code(
						      (enum tale_cause)c)}),
				    (uint64_t)ns);
		}
}

static void
write_accounts(struct proxy *p, struct exposition *e)
{
	const struct accounts *a = analysis_seen(p->analysis).accounts;
	const struct latencies *l = analysis_seen(p->analysis).latencies;

	exposition_gauge(e, "tailor_accounts", (double)atomic_load(&a->kept));
	exposition_gauge(
	    e, "tailor_accounts_bytes", (double)atomic_load(&a->bytes));
	exposition_counter(
	    e, "tailor_accounts_dropped_total", atomic_load(&a->dropped));
	exposition_counter(
	    e, "tailor_accounts_corrupt_total", atomic_load(&a->corrupt));
	exposition_counter(e, "tailor_accounts_left_out_total",
	    atomic_load(&analysis_seen(p->analysis).stats->accounts_left_out));
	exposition_counter(
	    e, "tailor_accounts_failed_total", atomic_load(&a->lost));
	exposition_counter(e, "tailor_accounts_disk_failures_total",
	    atomic_load(&a->failures));
	exposition_counter(e, "tailor_routes_lost_total",
	    atomic_load(&analysis_seen(p->analysis).routes->lost));
	exposition_counter(
	    e, "tailor_latencies_unnamed_total", atomic_load(&l->unnamed));
	exposition_counter(
	    e, "tailor_latencies_dropped_total", atomic_load(&l->dropped));
}

void
metrics_write_tales(struct proxy *p, struct exposition *e)
{
	const struct analysis_stats *s = analysis_seen(p->analysis).stats;

	by_cause(e, "tailor_slow_requests_total", s->cause_requests, 1);
	by_cause(e, "tailor_slow_seconds_total", s->cause_ns, 1e9);
	by_class(p, e);
	write_tail(p, e);
	write_accounts(p, e);
	exposition_counter(e, "tailor_slow_left_out_total",
	    analysis_seen(p->analysis).missed->count[MISSED_BUDGET]);
	exposition_counter(e, "tailor_slow_unmade_total",
	    analysis_seen(p->analysis).missed->count[MISSED_MEMORY]);
	exposition_family(e, "tailor_analysis_cpu_seconds_total");
	exposition_sample_ns(e, NULL, s->cpu_ns);
	exposition_gauge(e, "tailor_timelines", (double)s->tales);
	exposition_gauge(e, "tailor_timelines_bytes", (double)s->bytes);
	exposition_gauge(e, "tailor_timelines_on_disk", s->on_disk);
	exposition_counter(
	    e, "tailor_timelines_disk_failures_total", s->failures);
	exposition_counter(e, "tailor_timelines_told_total", s->made);
	exposition_counter(
	    e, "tailor_timelines_contradictory_total", s->contradictory);
	exposition_counter(e, "tailor_timelines_kept_total", s->added);
	exposition_counter(e, "tailor_timelines_dropped_total", s->dropped);
	exposition_counter(e, "tailor_timelines_failed_total", s->failed);
	exposition_counter(e, "tailor_timelines_corrupt_total", s->corrupt);
}

/* Resident and virtual size, bytes. */
static void
memory_now(double *resident, double *virtual)
{
	double page = (double)sysconf(_SC_PAGESIZE);
	unsigned long pages = 0, in = 0;
	char text[100];

	file_read_line(text, sizeof(text), "/proc/self/statm");
	if (sscanf(text, "%lu %lu", &pages, &in) != 2)
		pages = in = 0;
	*resident = (double)in * page;
	*virtual = (double)pages * page;
}

/* Return the number of open descriptors.  Listing 10,000 of them takes a
 * millisecond, so st_size is read instead, which the kernel sets since 6.2. */
static double
descriptors_open(const struct proxy *p)
{
	struct stat st;
	double n = 0;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (double)st.st_size;
	n = p->clients.count;
	UPSTREAM_EACH(&p->upstream, i)
	n += p->upstream.server[i].idle.count +
	     p->upstream.server[i].private.count +
	     p->upstream.server[i].busy.count +
	     p->upstream.server[i].draining.count;
	return n;
}

/* Write the metrics that every Prometheus client library has. */
static void
write_standard(struct proxy *p, struct exposition *e)
{
	double resident, virtual;
	struct timespec cpu;
	struct rlimit l;

	memory_now(&resident, &virtual);
	exposition_gauge(e, "process_resident_memory_bytes", resident);
	exposition_gauge(e, "process_virtual_memory_bytes", virtual);
	exposition_gauge(e, "process_open_fds", descriptors_open(p));
	if (getrlimit(RLIMIT_NOFILE, &l) == 0)
		exposition_gauge(e, "process_max_fds", (double)l.rlim_cur);
	exposition_family(e, "process_start_time_seconds");
	text_add(&e->text, "process_start_time_seconds %.3f\n",
	    (double)instant_wall_ns(p->started) / 1e9);
	/* Twenty times as fast as getrusage(). */
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) != 0)
		return;
	exposition_family(e, "process_cpu_seconds_total");
	exposition_sample_ns(
	    e, NULL, (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec);
}

/* Return when the observer read the oldest event that is still in the stream;
 * not set: none. */
static struct instant
stream_oldest(struct timeline *t)
{
	struct instant oldest = INSTANT_NONE;
	enum timeline_read got = TIMELINE_READ_LOST;
	struct timeline_reader *r;
	struct timeline_slot slot;
	uint64_t lost;

	if (timeline_reader_from(&r, t) < 0)
		return oldest;
	/* The oldest event may be overwritten while it is read: try again. */
	for (int i = 0; i < 3 && got == TIMELINE_READ_LOST; i++)
		got = timeline_read(r, &slot, &lost);
	if (got == TIMELINE_READ_OK)
		oldest.ns = slot.read_ns;
	timeline_reader_close(&r);
	return oldest;
}

static void
write_stream(struct proxy *p, struct exposition *e)
{
	uint64_t slots = p->config->profiler.stream_slots;
	uint64_t head = timeline_position(p->timeline);
	struct instant oldest = stream_oldest(p->timeline);
	int64_t age_ns =
	    instant_is_set(oldest) ? instant_since(instant_now(), oldest) : 0;

	exposition_counter(e, "tailor_stream_events_total", head);
	exposition_counter(e, "tailor_stream_overwritten_total",
	    head > slots ? head - slots : 0);
	exposition_gauge(e, "tailor_stream_slots", (double)slots);
	exposition_gauge(e, "tailor_stream_bytes",
	    (double)(slots * sizeof(struct timeline_slot)));
	exposition_family(e, "tailor_stream_oldest_age_seconds");
	exposition_sample_ns(e, NULL, age_ns < 0 ? 0 : (uint64_t)age_ns);
}

static void
write_spools(const struct spools *s, struct exposition *e)
{
	static const char *const use[SPOOL_USES] = {"request", "response"};

	exposition_gauge(e, "tailor_spool_bytes", (double)s->now.bytes);
	exposition_gauge(e, "tailor_spool_files", s->now.files);
	exposition_family(e, "tailor_spool_written_bytes_total");
	for (unsigned i = 0; i < SPOOL_USES; i++)
		exposition_sample(e, LABELS({"use", use[i]}), s->use[i].bytes);
	exposition_family(e, "tailor_spool_opened_total");
	for (unsigned i = 0; i < SPOOL_USES; i++)
		exposition_sample(e, LABELS({"use", use[i]}), s->use[i].files);
	exposition_family(e, "tailor_spool_refused_total");
	for (unsigned i = 0; i < SPOOL_USES; i++) {
		exposition_sample(e,
		    LABELS({"use", use[i]}, {"reason", "limit"}),
		    s->use[i].limited);
		exposition_sample(e,
		    LABELS({"use", use[i]}, {"reason", "failed"}),
		    s->use[i].failed);
	}
}

void
metrics_write_process(struct proxy *p, struct exposition *e)
{
	struct access_log_stats access;

	exposition_family(e, "tailor_build_info");
	text_add(
	    &e->text, "tailor_build_info{version=\"%s\"} 1\n", TAILOR_VERSION);
	exposition_gauge(e, "tailor_uptime_seconds",
	    (double)instant_since(instant_now(), p->started) / 1e9);
	exposition_gauge(e, "tailor_memory_limit_bytes",
	    (double)(p->memory_bytes >> 10 << 10));
	exposition_gauge(
	    e, "tailor_memory_blocks", (double)p->loop.blocks.blocks);
	exposition_gauge(
	    e, "tailor_memory_blocks_free", (double)p->loop.blocks.available);
	exposition_counter(
	    e, "tailor_memory_refused_total", p->loop.blocks.refused);
	exposition_gauge(e, "tailor_table_entries",
	    p->table.inflight_count + (p->table.finished < p->table.history_max
					      ? (double)p->table.finished
					      : p->table.history_max));
	write_stream(p, e);
	exposition_gauge(e, "tailor_table_bytes", (double)p->body_kept_bytes);
	write_spools(&p->loop.spools, e);
	access_log_stats(p->access_log, &access);
	exposition_family(e, "tailor_access_log_lines_total");
	exposition_sample(e, LABELS({"result", "written"}), access.written);
	exposition_sample(e, LABELS({"result", "dropped"}), access.dropped);
	exposition_sample(e, LABELS({"result", "failed"}), access.failed);
	exposition_counter(e, "tailor_log_dropped_total", log_dropped());
	exposition_distribution(
	    e, "tailor_loop_lag_seconds", &p->metrics.loop_lag);
	exposition_gauge(e, "tailor_metrics_render_seconds",
	    (double)p->metrics.render_ns / 1e9);
	write_standard(p, e);
}
