/* admin_reports.c: servers, requests in flight, the stream and this process. */
#include "proxy/admin/admin_reports.h"

#include "base/array.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/server.h"

/* Write the requests that a drain or restart waits for. */
static void
write_waits(const struct server *s, struct json *j)
{
	struct instant now = instant_now();
	struct server_rest rest;

	if (s->maintenance.stage != DRAINING)
		return;
	server_rest(s, &rest);
	json_key_object(j, "waits");
	json_key_uint(j, "requests", rest.requests);
	json_key_uint(j, "tunnels", rest.tunnels);
	json_key_uint(j, "losers", rest.losers);
	if (rest.oldest != NULL) {
		json_key_int(j, "oldest_ns", instant_since(now, rest.since));
		json_key_string(j, "method", rest.method);
		json_key_string(j, "target", rest.target);
	}
	if (instant_is_set(s->maintenance.cut_at))
		json_key_int(
		    j, "cut_in_ns", instant_since(s->maintenance.cut_at, now));
	json_object_end(j);
}

/* Write a server's phase and how full its young generation is, or what steering
 * lacks. */
static void
write_steer(const struct proxy *p, unsigned server, struct json *j)
{
	const struct steer_server *s = &p->steer.server[server];
	int64_t left_ns = steer_left_ns(&p->steer);

	if (!p->steer.on)
		return;
	json_key_object(j, "steer");
	json_key_string(j, "phase", steer_phase_name(s->phase));
	json_key_string(j, "missing", steer_missing_text(s->missing));
	if (steer_used(&p->steer, server) >= 0)
		json_key_double(j, "used", steer_used(&p->steer, server));
	if (s->phase == STEER_ACTIVE && left_ns >= 0)
		json_key_int(j, "swap_in_ns", left_ns);
	json_object_end(j);
}

/* Write the result of the latest probe or health check. */
static void
write_health(const struct server *s, struct json *j)
{
	char text[HEALTH_TEXT];

	json_key_object(j, "health");
	json_key_string(j, "result", health_result_name(s->checked.result));
	json_key_uint(j, "status", s->checked.status);
	json_key_string(j, "detail", health_text(s, text));
	json_object_end(j);
}

/* Write what is not seen of a server, why, and what changes that. */
static void
write_misses(const struct profiler_stats *stats, unsigned i, struct json *j)
{
	json_key_array(j, "misses");
	for (unsigned k = 0; k < stats->server[i].misses; k++) {
		const struct profiler_miss *m = &stats->server[i].miss[k];

		json_object_begin(j);
		json_key_string(j, "signals", m->what);
		json_key_string(j, "why", m->why);
		json_key_string(j, "do", m->fix);
		json_object_end(j);
	}
	json_array_end(j);
}

void
admin_write_server(struct proxy *p, unsigned i,
    const struct profiler_stats *stats, struct json *j)
{
	const struct hedging_server *h = &p->hedging.server[i];
	struct server *s = &p->upstream.server[i];
	struct instant now = instant_now();

	json_object_begin(j);
	json_key_string(j, "name", p->upstream.server[i].config->name);
	json_key_string(
	    j, "address", p->upstream.server[i].config->address.text);
	json_key_int(j, "pid",
	    s->program.pid > 0 ? s->program.pid : stats->server[i].pid);
	json_key_string(j, "program", stats->server[i].program);
	json_key_uint(j, "processes", stats->server[i].processes);
	json_key_bool(j, "launched", p->upstream.server[i].config->argc > 0);
	json_key_string(j, "state", server_state_shown(s));
	json_key_bool(j, "restarting", s->maintenance.restarting);
	write_waits(s, j);
	json_key_bool(j, "active", p->hedging.active == i);
	json_key_array(j, "pauses");
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if (h->hazards & (1U << k))
			json_string(j, hazard_kind_name((enum hazard_kind)k));
	json_array_end(j);
	json_key_string(
	    j, "source", profiler_source_name(stats->server[i].source));
	json_key_string(j, "detail", stats->server[i].detail);
	write_misses(stats, i, j);
	write_health(s, j);
	write_steer(p, i, j);
	json_key_uint(j, "inflight", h->inflight);
	json_key_uint(j, "draining", s->draining.count);
	json_key_object(j, "connections");
	json_key_uint(j, "idle", s->idle.count);
	json_key_uint(j, "busy", s->busy.count);
	json_object_end(j);
	json_key_int(j, "p50_ns", h->latency_p50_ns);
	json_key_int(j, "p95_ns", h->latency_p95_ns);
	json_key_int(j, "p99_ns", h->latency_p99_ns);
	json_key_double(j, "responses_per_s",
	    recent_rate_per_s(&s->response_rate, now, server_responses(s)));
	json_key_double(j, "errors_per_s",
	    recent_rate_per_s(&s->error_rate, now, server_errors(s)));
	json_key_uint(j, "warmups", s->warmups_ok);
	json_key_uint(j, "restarts", s->restarts);
	json_key_uint(j, "quick_ends", s->program.quick_ends);
	json_key_string(j, "last_end", s->program.last_end);
	json_key_uint(j, "errors", server_errors(s));
	json_object_end(j);
}

void
admin_write_servers(struct proxy *p, struct json *j)
{
	const struct config *c = p->config;
	struct profiler_stats stats;

	profiler_stats(p->profiler, &stats);
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.servers/1");
	json_key_string(
	    j, "mode", c->hedging.mode == CONFIG_MODE_ACT ? "act" : "watch");
	json_key_string(
	    j, "active", p->upstream.server[p->hedging.active].config->name);
	json_key_uint(j, "swaps", p->hedging.swaps);
	json_key_array(j, "servers");
	UPSTREAM_EACH(&p->upstream, i)
	admin_write_server(p, i, &stats, j);
	json_array_end(j);
	json_object_end(j);
}

static const char *
state_name(enum request_state state)
{
	static const char *const names[] = {
	    [REQUEST_READING] = "reading",
	    [REQUEST_QUEUED] = "queued",
	    [REQUEST_RUNNING] = "running",
	    [REQUEST_COMMITTED] = "committed",
	    [REQUEST_LOCAL] = "local",
	};

	return NAME_IN(names, state);
}

/* Write a request without header fields and body, which are private
 * (docs/threat-model.md). */
static void
write_request(const struct request *r, struct instant now, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "id", r->external_id);
	json_key_string(j, "method", r->method_text);
	json_key_string(j, "target", r->target);
	json_key_string(j, "client", r->client_address);
	json_key_string(j, "state", state_name(r->state));
	json_key_int(j, "age_ns", instant_since(now, r->first_byte));
	json_key_array(j, "servers");
	for (unsigned i = 0; i < r->race.started; i++)
		json_string(
		    j, r->proxy->upstream.server[r->race.attempt[i].server]
			   .config->name);
	json_array_end(j);
	json_object_end(j);
}

void
admin_write_requests(struct proxy *p, unsigned max, struct json *j)
{
	struct instant now = instant_now();
	const struct request *r;
	unsigned n = 0;

	json_object_begin(j);
	json_key_string(j, "schema", "tailor.requests/1");
	json_key_uint(j, "inflight", p->table.inflight_count);
	json_key_uint(j, "queued", p->queue.length);
	json_key_array(j, "requests");
	TAILQ_FOREACH(r, &p->table.inflight, link)
	{
		if (n++ == max)
			break;
		write_request(r, now, j);
	}
	json_array_end(j);
	json_object_end(j);
}

void
admin_write_stream(struct proxy *p, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "path", p->stream_path);
	json_key_uint(j, "slots", p->config->profiler.stream_slots);
	json_key_uint(j, "position", timeline_position(p->timeline));
	json_object_end(j);
}

/* Write which kernel events are available, and why others are not. */
static void
write_kernel(const struct proxy *p, struct json *j)
{
	struct profiler_signal_state state[PROFILER_SIGNALS];

	profiler_signals(p->profiler, state);
	json_array_begin(j);
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++) {
		json_object_begin(j);
		json_key_string(j, "name", profiler_signal_name(i));
		json_key_string(j, "gives", profiler_signal_meaning(i));
		json_key_bool(j, "on", state[i].on);
		if (!state[i].on)
			json_key_string(j, "why", state[i].why);
		json_object_end(j);
	}
	json_array_end(j);
}

void
admin_write_info(struct proxy *p, struct json *j)
{
	char text[40];

	json_object_begin(j);
	json_key_string(j, "schema", "tailor.info/1");
	json_key_string(j, "version", TAILOR_VERSION);
	json_key_int(j, "pid", getpid());
	json_key_string(
	    j, "started", text_wall(text, instant_wall_ns(p->started)));
	json_key_string(j, "placement", p->plan.why);
	json_key_int(j, "proxy_cpu", p->plan.proxy_cpu);
	json_key_int(j, "observer_cpu", p->plan.observer_cpu);
	json_key_string(j, "poll", p->poll_text);
	json_key(j, "kernel");
	write_kernel(p, j);
	json_key_array(j, "listeners");
	for (unsigned i = 0; i < LISTENERS; i++)
		if (p->clients.listener[i].fd >= 0)
			json_string(j, p->clients.listener[i].name);
	json_array_end(j);
	json_object_end(j);
}
