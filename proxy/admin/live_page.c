/*
 * live_page.c: the live page: one HTML document that needs nothing else.
 *
 * Without a script it loads itself again every five seconds.  With one it
 * asks /live.json every two, and when that says that something has happened,
 * fetches the page and puts its <main> in the place of the old one.
 *
 * Every text from outside goes through put_text.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/live_sums.h"
#include "talechain/events/events.h"

#define CHART_WIDTH 900
#define LANE_HEIGHT 34
#define LABEL_WIDTH 90

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fafafa;--fg:#1b1f23;--dim:#5b6570;"
    "--line:#d8dde2;--card:#fff;--gc:#9c4f7a;--safe:#0072b2;--exit:#b3261e;"
    "--bar:#0072b2;--slow:#d55e00;--ok:#00805c}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;"
    "--dim:#9aa4ae;--line:#33393f;--card:#1c2024;--gc:#cc79a7;--safe:#7cc4ff;"
    "--exit:#ff8a80;--bar:#7cc4ff;--slow:#ff7a59;--ok:#3dd6a3}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);"
    "color:var(--fg);font:14px/1.45 system-ui,sans-serif}"
    "main{max-width:1080px;margin:0 auto;padding:16px 20px 40px}"
    "h1{font-size:20px;margin:4px 0 2px}h2{font-size:15px;margin:26px 0 8px}"
    "p{margin:2px 0 8px}.dim{color:var(--dim)}"
    ".lead{font-size:17px;margin:10px 0 4px}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}"
    "th{font-weight:600;color:var(--dim)}"
    "td,th{padding:4px 10px 4px 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--line)}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}"
    "td.t{overflow-wrap:anywhere;min-width:200px}"
    "a{color:var(--bar)}code{font:13px ui-monospace,monospace}"
    "svg{display:block;width:100%;height:auto;background:var(--card);"
    "border:1px solid var(--line)}"
    "svg text{fill:var(--dim);font:12px system-ui,sans-serif}"
    "svg text.s{fill:var(--fg)}svg .grid{stroke:var(--line)}"
    ".gc{fill:var(--gc)}.safepoint{fill:var(--safe)}.exit{fill:var(--fg)}"
    ".bar{fill:var(--bar)}.over{fill:var(--slow)}"
    ".ready{color:var(--ok)}.down{color:var(--exit)}"
    "ul.key{list-style:none;margin:6px 0 0;padding:0;display:flex;gap:18px;"
    "flex-wrap:wrap;color:var(--dim)}"
    ".key svg{display:inline-block;width:12px;height:12px;border:0;"
    "margin-right:6px;vertical-align:-1px}";

static const char script[] =
    "'use strict';(function(){let last='';"
    "async function turn(){try{"
    "const j=await(await fetch('live.json',{cache:'no-store'})).json();"
    "const now=[j.finished,j.hazards_seen,j.swaps,"
    "JSON.stringify(j.servers.map(s=>[s.state,s.active,s.hazards]))].join();"
    "if(now!==last){last=now;"
    "const t=await(await fetch('live',{cache:'no-store',"
    "headers:{Accept:'text/html'}})).text();"
    "const d=new DOMParser().parseFromString(t,'text/html');"
    "document.querySelector('main').replaceWith("
    "document.adoptNode(d.querySelector('main')))}"
    "document.title='Tailor'}catch(e){document.title='Tailor (no answer)'}"
    "setTimeout(turn,document.hidden?10000:2000)}"
    "setTimeout(turn,2000)})()";

static void
put_text(FILE *f, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			/* What is not printable ASCII is of no use here. */
			fputc(*text < ' ' || *text > '~' ? '?' : *text, f);
		}
}

/* Text as a part of a URL's path. */
static void
put_escaped(FILE *f, const char *text)
{
	for (; *text != '\0'; text++)
		if (strchr("-_.~", *text) != NULL ||
		    (*text >= '0' && *text <= '9') ||
		    (*text >= 'a' && *text <= 'z') ||
		    (*text >= 'A' && *text <= 'Z'))
			fputc(*text, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*text);
}

/* "813 us", "41.2 ms", "3.1 s" */
static const char *
duration(char out[24], int64_t ns)
{
	if (ns < NS_PER_MS)
		snprintf(out, 24, "%.0f us", (double)ns / 1e3);
	else if (ns < NS_PER_S)
		snprintf(out, 24, "%.3g ms", (double)ns / 1e6);
	else if (ns < 120 * NS_PER_S)
		snprintf(out, 24, "%.3g s", (double)ns / 1e9);
	else
		snprintf(out, 24, "%.1f min", (double)ns / 60e9);
	return out;
}

static const char *
percent(char out[16], int64_t part, int64_t whole)
{
	snprintf(out, 16, "%.0f %%",
	    whole > 0 ? 100.0 * (double)part / (double)whole : 0);
	return out;
}

static void
put_lead(FILE *f, const struct live_view *v, const struct live_sums *s)
{
	char d[24], p[16];

	fprintf(f,
	    "<h1>Tailor</h1><p class=dim>version %s, mode %s, up %s, "
	    "%llu requests since the start, %u in flight</p>",
	    TAILOR_VERSION, v->mode,
	    duration(d, instant_since(v->now, v->started)),
	    (unsigned long long)v->finished, v->inflight);
	fprintf(f,
	    "<p class=lead>%llu of %llu requests of the last ten "
	    "minutes took over %s",
	    (unsigned long long)s->slow, (unsigned long long)s->requests,
	    duration(d, v->target_ns));
	if (s->causes > 0)
		fprintf(f, "; what cost them most: %s (%s)",
		    tale_cause_label(s->cause[0].cause),
		    percent(p, s->cause[0].lost_ns, s->lost_ns));
	fputs(".</p>", f);
	if (v->unexamined > 0)
		fprintf(f,
		    "<p class=dim>%llu slow requests could not be "
		    "examined: the queue was full.</p>",
		    (unsigned long long)v->unexamined);
}

static void
put_servers(FILE *f, const struct live_view *v)
{
	char a[24], b[24], c[24];

	fputs("<h2>Servers</h2><div class=wide><table><tr><th>server<th>state"
	      "<th>now<th>watched by<th class=n>in flight<th class=n>p50"
	      "<th class=n>p95<th class=n>p99<th class=n>restarts"
	      "<th class=n>errors",
	    f);
	for (unsigned i = 0; i < v->servers; i++) {
		const struct live_server *s = &v->server[i];

		fputs("<tr><td>", f);
		put_text(f, s->name);
		fprintf(f, "%s<br><span class=dim>",
		    s->active ? " <b>(active)</b>" : "");
		put_text(f, s->address);
		fprintf(f, "</span><td class=%s>%s<td>",
		    strcmp(s->state, "down") == 0 ? "down" : "ready", s->state);
		for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
			if (s->hazards & (1U << k))
				fprintf(f, "<b>%s</b> ",
				    hazard_kind_name((enum hazard_kind)k));
		fprintf(f,
		    "<td>%s<td class=n>%u<td class=n>%s<td class=n>%s"
		    "<td class=n>%s<td class=n>%llu<td class=n>%llu",
		    s->source, s->inflight, duration(a, s->p50_ns),
		    duration(b, s->p95_ns), duration(c, s->p99_ns),
		    (unsigned long long)s->restarts,
		    (unsigned long long)s->errors);
	}
	fputs("</table></div>", f);
}

/* Where in the chart a moment of the window is. */
static double
chart_x(const struct live_view *v, struct instant at)
{
	double ago = (double)instant_since(v->now, at);

	return LABEL_WIDTH + (CHART_WIDTH - LABEL_WIDTH) *
				 (1 - ago / (double)RECENT_WINDOW_NS);
}

static void
put_hazard(FILE *f, const struct live_view *v, const struct recent_hazard *h)
{
	struct instant end = instant_is_set(h->end) ? h->end : v->now;
	double x = chart_x(v, h->begin), to = chart_x(v, end), wide;
	const char *kind = hazard_kind_name((enum hazard_kind)h->kind);
	char length[24], ago[24];

	if (to < LABEL_WIDTH || h->server >= v->servers)
		return;
	if (x < LABEL_WIDTH)
		x = LABEL_WIDTH;
	/* A pause of a millisecond is a thousandth of a pixel. */
	wide = to - x < 2 ? 2 : to - x;
	fprintf(f, "<rect class=%s x=%.1f y=%u width=%.1f height=%u><title>",
	    kind, x, 10 + h->server * LANE_HEIGHT, wide, LANE_HEIGHT - 12);
	put_text(f, v->server[h->server].name);
	fprintf(f, ": %s (%s), %s%s, %s ago</title></rect>", kind,
	    talechain_cause_name(h->cause),
	    duration(length, instant_since(end, h->begin)),
	    instant_is_set(h->end) ? "" : " so far",
	    duration(ago, instant_since(v->now, h->begin)));
}

/* A mark for each slow request, below the servers. */
static void
put_slow_marks(FILE *f, const struct live_view *v,
    const struct tale_summary *const *slow, unsigned n, unsigned y)
{
	char total[24];

	for (unsigned i = 0; i < n; i++) {
		int64_t ago = v->wall_ns - slow[i]->finished_wall_ns;
		struct instant at = instant_plus(v->now, -ago);

		if (ago < 0 || ago > RECENT_WINDOW_NS ||
		    slow[i]->reason != TALE_REASON_TARGET)
			continue;
		fprintf(f, "<a href=\"timeline/");
		put_escaped(f, slow[i]->external_id);
		fprintf(f,
		    "?format=html\"><rect class=over x=%.1f y=%u width=3 "
		    "height=%u><title>",
		    chart_x(v, at) - 1, y, LANE_HEIGHT - 12);
		put_text(f, slow[i]->target);
		fprintf(f, ": %s</title></rect></a>",
		    duration(total, slow[i]->total_ns));
	}
}

static void
put_key(FILE *f, const char *class, const char *words)
{
	fprintf(f,
	    "<li><svg viewBox=\"0 0 12 12\" aria-hidden=true><rect class=%s "
	    "width=12 height=12 /></svg>%s",
	    class, words);
}

static void
put_hazards(FILE *f, const struct live_view *v,
    const struct tale_summary *const *slow, unsigned n)
{
	unsigned lanes = v->servers + 1, height = lanes * LANE_HEIGHT + 30;
	uint64_t kept = v->recent.hazards < RECENT_HAZARDS ? v->recent.hazards
							   : RECENT_HAZARDS;

	fprintf(f,
	    "<h2>When servers could not answer</h2><div class=wide>"
	    "<svg viewBox=\"0 0 %d %u\" role=img "
	    "aria-label=\"Pauses of both servers in the last ten "
	    "minutes\">",
	    CHART_WIDTH, height);
	for (unsigned m = 0; m <= 10; m += 2) {
		double x =
		    LABEL_WIDTH + (CHART_WIDTH - LABEL_WIDTH) * (10 - m) / 10.0;

		fprintf(f,
		    "<line class=grid x1=%.1f x2=%.1f y1=0 y2=%u />"
		    "<text x=%.1f y=%u text-anchor=%s>",
		    x, x, height - 22, x, height - 7,
		    m == 0    ? "end"
		    : m == 10 ? "start"
			      : "middle");
		if (m == 0)
			fputs("now</text>", f);
		else
			fprintf(f, "-%u min</text>", m);
	}
	for (unsigned i = 0; i < v->servers; i++) {
		fprintf(
		    f, "<text class=s x=8 y=%u>", 10 + i * LANE_HEIGHT + 16);
		put_text(f, v->server[i].name);
		fputs("</text>", f);
	}
	fprintf(f, "<text class=s x=8 y=%u>slow</text>",
	    10 + v->servers * LANE_HEIGHT + 16);
	for (uint64_t i = 1; i <= kept; i++)
		put_hazard(f, v,
		    &v->recent
			 .hazard[(v->recent.hazards - i) % RECENT_HAZARDS]);
	put_slow_marks(f, v, slow, n, 10 + v->servers * LANE_HEIGHT);
	fputs("</svg></div><ul class=key>", f);
	put_key(f, "gc", "garbage collection");
	put_key(f, "safepoint", "safepoint");
	put_key(f, "exit", "not running");
	put_key(f, "over", "a slow request");
	fputs("</ul>", f);
}

static void
put_causes(FILE *f, const struct live_sums *s)
{
	char d[24], p[16];

	fputs("<h2>What slow requests waited for</h2>", f);
	if (s->causes == 0) {
		fputs("<p class=dim>No slow request was examined in the last "
		      "ten minutes.</p>",
		    f);
		return;
	}
	fputs("<div class=wide><table><tr><th>cause<th class=n>time lost"
	      "<th class=n>share<th class=n>requests<th>",
	    f);
	for (unsigned i = 0; i < s->causes; i++) {
		const struct live_cause *c = &s->cause[i];

		fprintf(f,
		    "<tr><td>%s <code class=dim>%s</code><td class=n>%s"
		    "<td class=n>%s<td class=n>%u<td>"
		    "<svg viewBox=\"0 0 300 14\" aria-hidden=true>"
		    "<rect class=bar width=%.1f height=14 /></svg>",
		    tale_cause_label(c->cause), tale_cause_code(c->cause),
		    duration(d, c->lost_ns), percent(p, c->lost_ns, s->lost_ns),
		    c->requests,
		    s->lost_ns > 0
			? 300.0 * (double)c->lost_ns / (double)s->lost_ns
			: 0.0);
	}
	fputs("</table></div>", f);
}

static void
put_slow(FILE *f, const struct live_view *v,
    const struct tale_summary *const *slow, unsigned n)
{
	char total[24], ago[24];

	fputs("<h2>Slow requests</h2>", f);
	if (n == 0) {
		fputs("<p class=dim>None is kept.</p>", f);
		return;
	}
	fputs("<div class=wide><table><tr><th class=n>took<th class=n>ago"
	      "<th>request<th>what happened",
	    f);
	for (unsigned i = 0; i < n; i++) {
		const struct tale_summary *t = slow[i];
		int64_t since = v->wall_ns - t->finished_wall_ns;

		fprintf(f,
		    "<tr><td class=n>%s<td class=n>%s<td class=t>"
		    "<a href=\"timeline/",
		    duration(total, t->total_ns),
		    duration(ago, since < 0 ? 0 : since));
		put_escaped(f, t->external_id);
		fputs("?format=html\"><code>", f);
		put_text(f, t->method);
		fputc(' ', f);
		put_text(f, t->target);
		fprintf(f, "</code></a><br><span class=dim>%d", t->status);
		if (t->winner[0] != '\0') {
			fputs(", ", f);
			put_text(f, t->winner);
		}
		if (t->reason != TALE_REASON_TARGET)
			fprintf(f, ", kept: %s", tale_reason_name(t->reason));
		if (t->earlier_boot)
			fputs(", from an earlier boot", f);
		fputs("</span><td class=t>", f);
		put_text(f, t->verdict);
	}
	fputs("</table></div>", f);
}

static void
put_latency(FILE *f, const struct live_view *v, const struct live_sums *s)
{
	uint64_t most = 1;
	unsigned first = RECENT_BUCKETS, last = 0;
	double wide;
	char edge[24];

	for (unsigned i = 0; i < RECENT_BUCKETS; i++) {
		most = s->bucket[i] > most ? s->bucket[i] : most;
		if (s->bucket[i] > 0) {
			first = first == RECENT_BUCKETS ? i : first;
			last = i;
		}
	}
	fputs("<h2>Latency, last ten minutes</h2>", f);
	if (first == RECENT_BUCKETS) {
		fputs("<p class=dim>No requests.</p>", f);
		return;
	}
	wide = (double)CHART_WIDTH / (last - first + 1);
	if (wide > 120)
		wide = 120;
	fprintf(f,
	    "<div class=wide><svg viewBox=\"0 0 %d 170\" role=img "
	    "aria-label=\"Latency histogram\">",
	    CHART_WIDTH);
	for (unsigned i = first; i <= last; i++) {
		double x = (i - first) * wide;
		/* One request must be seen beside a million. */
		double high =
		    s->bucket[i] == 0
			? 0
			: 2 + 108.0 * (double)s->bucket[i] / (double)most;
		bool over =
		    i > 0 && recent_bucket_edge_ns(i - 1) >= v->target_ns;

		fprintf(f,
		    "<rect class=%s x=%.1f y=%.1f width=%.1f height=%.1f />"
		    "<text x=%.1f y=%.1f text-anchor=middle>%llu</text>"
		    "<text x=%.1f y=162 text-anchor=middle>%s%s</text>",
		    over ? "over" : "bar", x + 3, 142 - high, wide - 6, high,
		    x + wide / 2, 136 - high, (unsigned long long)s->bucket[i],
		    x + wide / 2, i == RECENT_BUCKETS - 1 ? "more" : "&lt; ",
		    i == RECENT_BUCKETS - 1
			? ""
			: duration(edge, recent_bucket_edge_ns(i)));
	}
	fputs("</svg></div>", f);
}

static void
put_index(FILE *f)
{
	fputs("<h2>What else there is</h2><ul>"
	      "<li><a href=metrics>metrics</a>, <a href=servers>servers</a>, "
	      "<a href=\"slow?n=20\">slow</a>, <a href=info>info</a>, "
	      "<a href=stream>stream</a>, <a href=live.json>live.json</a>, "
	      "<a href=healthz>healthz</a>, <a href=readyz>readyz</a>"
	      "<li>what changes something wants POST: see <code>GET /</code> "
	      "as plain text, or <code>tailorctl --help</code></ul>",
	    f);
}

int
live_page(const struct live_view *v, const struct live_sums *sums,
    const struct tale_summary *const *slow, unsigned n, char **text,
    size_t *length)
{
	FILE *f;

	*text = NULL;
	f = open_memstream(text, length);
	if (f == NULL)
		return -ENOMEM;
	fprintf(f,
	    "<!DOCTYPE html><html lang=en><head><meta charset=utf-8>"
	    "<meta name=viewport content=\"width=device-width\">"
	    "<title>Tailor</title>"
	    "<noscript><meta http-equiv=refresh content=5></noscript>"
	    "<style nonce=%s>%s</style></head><body><main>",
	    v->nonce, style);
	put_lead(f, v, sums);
	put_servers(f, v);
	put_hazards(f, v, slow, n);
	put_causes(f, sums);
	put_slow(f, v, slow, n);
	put_latency(f, v, sums);
	put_index(f);
	fprintf(f, "</main><script nonce=%s>%s</script></body></html>\n",
	    v->nonce, script);
	if (fclose(f) == 0)
		return 0;
	free(*text);
	*text = NULL;
	return -ENOMEM;
}
