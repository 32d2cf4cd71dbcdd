/* metrics_process.c: what is counted of the process itself, its observer and
 * its tales, as text. */
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

/* How long from one sweep to the next: in powers of two of a ns. */
static void
write_periods(struct exposition *e, const struct profiler_stats *s)
{
	uint64_t sum = 0;

	exposition_family(e, "tailor_profiler_period_seconds", "histogram",
	    "From one sweep of the observer to the next.");
	for (unsigned i = 0; i < PROFILER_PERIODS - 1; i++) {
		char edge[EXPOSITION_SECONDS];

		sum += s->cost.period[i];
		if (i < 5) /* no sweep takes less than 32 ns */
			continue;
		exposition_seconds(UINT64_C(1) << i, edge);
		exposition_sample(e, "tailor_profiler_period_seconds_bucket",
		    LABELS({"le", edge}), sum);
	}
	sum += s->cost.period[PROFILER_PERIODS - 1];
	exposition_sample(e, "tailor_profiler_period_seconds_bucket",
	    LABELS({"le", "+Inf"}), sum);
	exposition_sample_ns(
	    e, "tailor_profiler_period_seconds_sum", NULL, s->cost.periods_ns);
	exposition_sample(e, "tailor_profiler_period_seconds_count", NULL, sum);
}

/* What the observer's sweeps cost, and what they are spent on. */
static void
write_self(struct exposition *e, const struct profiler_stats *s)
{
	double timed = s->cost.timed > 0 ? (double)s->cost.timed : 1;

	write_periods(e, s);
	exposition_counter(e, "tailor_profiler_sweeps_timed_total",
	    "Sweeps that were timed piece by piece: one in 1024.",
	    s->cost.timed);
	exposition_family(e, "tailor_profiler_sweep_cycles_total", "counter",
	    "Cycles of the time stamp counter in those sweeps, by what was "
	    "looked at.");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		exposition_sample(e, "tailor_profiler_sweep_cycles_total",
		    LABELS({"source", profiler_part_name(i)}),
		    s->cost.cycles[i]);
	exposition_family(e, "tailor_profiler_sweep_mean_cycles", "gauge",
	    "The same for one sweep: their mean since the start.");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		text_add(&e->text,
		    "tailor_profiler_sweep_mean_cycles{source=\"%s\"} %.1f\n",
		    profiler_part_name(i), (double)s->cost.cycles[i] / timed);
	exposition_family(e, "tailor_profiler_cpu_seconds_total", "counter",
	    "CPU time of the observer thread, which others cannot have.");
	text_add(&e->text, "tailor_profiler_cpu_seconds_total %.6f\n",
	    (double)s->cpu_ns / 1e9);
	exposition_gauge(e, "tailor_profiler_resting",
	    "1 while the observer rests: no request is in flight.", s->resting);
	exposition_counter(e, "tailor_profiler_rests_total",
	    "Rests of the observer; each ends with a sweep.", s->rests);
	exposition_counter(e, "tailor_profiler_wakes_total",
	    "Rests that a request or a change of a server ended early.",
	    s->wakes);
	exposition_family(e, "tailor_profiler_blind_seconds_total", "counter",
	    "The sum of these gaps.");
	text_add(&e->text, "tailor_profiler_blind_seconds_total %.9f\n",
	    (double)s->blind_ns / 1e9);
}

void
metrics_write_profiler(struct proxy *p, struct exposition *e)
{
	struct profiler_stats s;

	profiler_stats(p->profiler, &s);
	exposition_counter(e, "tailor_profiler_samples_total",
	    "Sweeps of the observer.", s.sweeps);
	exposition_counter(e, "tailor_profiler_events_total",
	    "Events copied into the timeline stream.", s.events);
	exposition_counter(e, "tailor_profiler_lost_total",
	    "Events overwritten before they were read.", s.lost);
	exposition_counter(e, "tailor_profiler_torn_total",
	    "Events read again because their writer came by.", s.torn);
	exposition_counter(e, "tailor_profiler_abandoned_total",
	    "Events left half-written.", s.abandoned);
	exposition_counter(e, "tailor_channel_errors_total",
	    "Values out of range in a channel.", s.rejected);
	exposition_counter(e, "tailor_hazards_dropped_total",
	    "Hazards the proxy had no room for.", s.hazards_lost);
	exposition_family(e, "tailor_kernel_unsampled_seconds_total", "counter",
	    "Time in which the kernel's events were not recorded because "
	    "there were too many.");
	exposition_sample_ns(e, "tailor_kernel_unsampled_seconds_total", NULL,
	    s.kernel_unsampled_ns);
	exposition_counter(e, "tailor_kernel_missed_total",
	    "Events that the kernel's programs could not write.",
	    s.kernel_missed);
	exposition_counter(e, "tailor_kernel_threads_refused_total",
	    "Threads whose waits are unknown: over 16384.", s.kernel_crowded);
	exposition_counter(e, "tailor_processes_refused_total",
	    "Processes of servers that are not watched: over 256 of one.",
	    s.processes_refused);
	exposition_family(e, "tailor_server_processes", "gauge",
	    "Processes that are this server: those that listen, and all below "
	    "them.");
	for (unsigned i = 0; i < p->config->servers; i++)
		exposition_sample(e, "tailor_server_processes",
		    LABELS({"server", p->config->server[i].name}),
		    s.server[i].processes);
	exposition_counter(e, "tailor_profiler_blind_total",
	    "Gaps between sweeps of more than 1 ms, or two sleeps.", s.blind);
	exposition_gauge(e, "tailor_profiler_blind_max_seconds",
	    "The longest of them.", (double)s.blind_max_ns / 1e9);
	write_self(e, &s);
	exposition_counter(e, "tailor_profiler_rates_total",
	    "Rates of servers and CPUs written into the stream.", s.rates);
	exposition_counter(e, "tailor_profiler_rates_dropped_total",
	    "Periods of such rates dropped as distorted.", s.rates_dropped);
	exposition_family(e, "tailor_host_steal_seconds_total", "counter",
	    "CPU time that the host of this virtual machine took, all CPUs.");
	exposition_sample_ns(
	    e, "tailor_host_steal_seconds_total", NULL, s.stolen_ns);
	exposition_gauge(e, "tailor_channels", "Channels open.", s.channels);
	exposition_counter(e, "tailor_channels_refused_total",
	    "Channels refused.", s.channels_refused);
}

/* Counters by cause; those that have never happened are not written. */
static void
by_cause(struct exposition *e, const char *name, const char *help,
    const uint64_t *value, double unit)
{
	exposition_family(e, name, "counter", help);
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		if (value[i] > 0)
			text_add(&e->text, "%s{cause=\"%s\"} %.9g\n", name,
			    tale_cause_code((enum tale_cause)i),
			    (double)value[i] / unit);
}

void
metrics_write_tales(struct proxy *p, struct exposition *e)
{
	struct analysis_stats s;

	analysis_stats(p->analysis, &s);
	by_cause(e, "tailor_slow_requests_total",
	    "Requests slower than slow.target, by what most of their time "
	    "passed on.",
	    s.cause_requests, 1);
	by_cause(e, "tailor_slow_seconds_total",
	    "The time of those requests, by what it passed on.", s.cause_ns,
	    1e9);
	exposition_counter(e, "tailor_slow_left_out_total",
	    "Slow requests not examined because analysis.cpu was used up.",
	    s.left_out);
	exposition_family(e, "tailor_analysis_cpu_seconds_total", "counter",
	    "CPU time of the analysis thread.");
	exposition_sample_ns(
	    e, "tailor_analysis_cpu_seconds_total", NULL, s.cpu_ns);
	exposition_gauge(e, "tailor_tales", "Tales of requests that are kept.",
	    s.store.tales);
	exposition_gauge(e, "tailor_tales_bytes",
	    "What they take in the store.", (double)s.store.bytes);
	exposition_gauge(
	    e, "tailor_tales_files", "Files of the store.", s.store.files);
	exposition_gauge(e, "tailor_tales_on_disk",
	    "1 if the store is a directory, 0 if it is memory.", s.on_disk);
	exposition_counter(e, "tailor_tales_told_total",
	    "Requests whose events were examined.", s.made);
	exposition_counter(e, "tailor_tales_contradictory_total",
	    "Slow requests whose events contradict each other for some time.",
	    s.contradictory);
	exposition_counter(e, "tailor_tales_kept_total",
	    "Tales put into the store.", s.store.added);
	exposition_counter(e, "tailor_tales_dropped_total",
	    "Tales dropped at slow.store_bytes.", s.store.dropped);
	exposition_counter(e, "tailor_tales_failed_total",
	    "Tales that could not be written.", s.failed);
	exposition_counter(e, "tailor_tales_corrupt_total",
	    "Places in the store's files that hold no good record.",
	    s.store.corrupt);
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

/* O(descriptors): with 10,000 of them a millisecond, so not each one is
 * looked at: the kernel counts them since 6.2 (st_size), before it does not. */
static double
descriptors_open(const struct proxy *p)
{
	struct stat st;
	double n = 0;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (double)st.st_size;
	n = p->clients.count;
	for (unsigned i = 0; i < p->config->servers; i++)
		n += p->upstream.server[i].idle.count +
		     p->upstream.server[i].busy.count +
		     p->upstream.server[i].draining.count;
	return n;
}

/* The names that every Prometheus client library has. */
static void
write_standard(struct proxy *p, struct exposition *e)
{
	double resident, virtual;
	struct timespec cpu;
	struct rlimit l;

	memory_now(&resident, &virtual);
	exposition_gauge(e, "process_resident_memory_bytes",
	    "Memory that is in use.", resident);
	exposition_gauge(e, "process_virtual_memory_bytes",
	    "Address space that is mapped.", virtual);
	exposition_gauge(e, "process_open_fds",
	    "Open descriptors (before Linux 6.2: connections only).",
	    descriptors_open(p));
	if (getrlimit(RLIMIT_NOFILE, &l) == 0)
		exposition_gauge(e, "process_max_fds", "As many there may be.",
		    (double)l.rlim_cur);
	exposition_family(e, "process_start_time_seconds", "gauge",
	    "When it was started, since 1970.");
	text_add(&e->text, "process_start_time_seconds %.3f\n",
	    (double)instant_wall_ns(p->started) / 1e9);
	/* A twentieth of what getrusage costs. */
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) != 0)
		return;
	exposition_family(e, "process_cpu_seconds_total", "counter",
	    "User and system CPU time.");
	exposition_sample_ns(e, "process_cpu_seconds_total", NULL,
	    (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec);
}

/* When the oldest event that can still be read was read; not set: none. */
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
	/* Overtaken at once, even twice: then it is very young. */
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

	exposition_counter(e, "tailor_stream_events_total",
	    "Events written to the stream.", head);
	exposition_counter(e, "tailor_stream_overwritten_total",
	    "Of those, overwritten by later ones.",
	    head > slots ? head - slots : 0);
	exposition_gauge(e, "tailor_stream_slots",
	    "Events that the stream holds.", (double)slots);
	exposition_gauge(e, "tailor_stream_bytes", "What they take.",
	    (double)(slots * sizeof(struct timeline_slot)));
	exposition_family(e, "tailor_stream_oldest_age_seconds", "gauge",
	    "How far the stream reaches back: the age of the oldest event that "
	    "can be read.  A request must be examined before it is older.");
	exposition_sample_ns(e, "tailor_stream_oldest_age_seconds", NULL,
	    age_ns < 0 ? 0 : (uint64_t)age_ns);
}

static void
write_spools(const struct spools *s, struct exposition *e)
{
	static const char *const use[SPOOL_USES] = {"request", "response"};

	exposition_gauge(e, "tailor_spool_bytes",
	    "Bytes that wait for slow peers in files.", (double)s->now.bytes);
	exposition_gauge(e, "tailor_spool_files", "Such files.", s->now.files);
	exposition_family(e, "tailor_spool_written_bytes_total", "counter",
	    "Bytes written to them, of requests and of responses.");
	for (unsigned i = 0; i < SPOOL_USES; i++)
		exposition_sample(e, "tailor_spool_written_bytes_total",
		    LABELS({"use", use[i]}), s->use[i].bytes);
	exposition_family(
	    e, "tailor_spool_opened_total", "counter", "Files that were made.");
	for (unsigned i = 0; i < SPOOL_USES; i++)
		exposition_sample(e, "tailor_spool_opened_total",
		    LABELS({"use", use[i]}), s->use[i].files);
	exposition_family(e, "tailor_spool_refused_total", "counter",
	    "Writes to them that were not made: proxy.spool_max, or as many "
	    "files as there may be, or the file system failed or is full.");
	for (unsigned i = 0; i < SPOOL_USES; i++) {
		exposition_sample(e, "tailor_spool_refused_total",
		    LABELS({"use", use[i]}, {"reason", "limit"}),
		    s->use[i].limited);
		exposition_sample(e, "tailor_spool_refused_total",
		    LABELS({"use", use[i]}, {"reason", "failed"}),
		    s->use[i].failed);
	}
}

void
metrics_write_process(struct proxy *p, struct exposition *e)
{
	struct access_log_stats access;

	exposition_family(
	    e, "tailor_build_info", "gauge", "Version of this program.");
	text_add(
	    &e->text, "tailor_build_info{version=\"%s\"} 1\n", TAILOR_VERSION);
	exposition_gauge(e, "tailor_uptime_seconds", "Since the start.",
	    (double)instant_since(instant_now(), p->started) / 1e9);
	exposition_gauge(e, "tailor_memory_limit_bytes",
	    "The most that Tailor will take, as printed at the start.",
	    (double)(p->memory_bytes >> 10 << 10));
	exposition_gauge(e, "tailor_memory_blocks", "Blocks of 16 KiB made.",
	    (double)p->loop.blocks.blocks);
	exposition_gauge(e, "tailor_memory_blocks_free",
	    "Of those, not in use.", (double)p->loop.blocks.available);
	exposition_counter(e, "tailor_memory_refused_total",
	    "Blocks refused at the limit.", p->loop.blocks.refused);
	exposition_gauge(e, "tailor_table_entries",
	    "Requests that are known: in flight, and the last finished.",
	    p->table.inflight_count + (p->table.finished < p->table.history_max
					      ? (double)p->table.finished
					      : p->table.history_max));
	write_stream(p, e);
	exposition_gauge(e, "tailor_table_bytes", "Memory of request bodies.",
	    (double)p->body_kept_bytes);
	write_spools(&p->loop.spools, e);
	access_log_stats(p->access_log, &access);
	exposition_family(e, "tailor_access_log_lines_total", "counter",
	    "Lines of the access log: written; dropped, because the ring was "
	    "full; failed, because the file did not take them.");
	text_add(&e->text,
	    "tailor_access_log_lines_total{result=\"written\"} %llu\n"
	    "tailor_access_log_lines_total{result=\"dropped\"} %llu\n"
	    "tailor_access_log_lines_total{result=\"failed\"} %llu\n",
	    (unsigned long long)access.written,
	    (unsigned long long)access.dropped,
	    (unsigned long long)access.failed);
	exposition_counter(e, "tailor_log_dropped_total",
	    "Log lines dropped because the ring was full.", log_dropped());
	exposition_distribution(e, "tailor_loop_lag_seconds",
	    "How late the loop's 10 ms timer was.", &p->metrics.loop_lag);
	exposition_gauge(e, "tailor_metrics_render_seconds",
	    "What writing this took the proxy thread the last time.",
	    (double)p->metrics.render_ns / 1e9);
	write_standard(p, e);
}
