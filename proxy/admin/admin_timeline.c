/* admin_timeline.c: questions to the analysis thread, and the live page. */
#include "proxy/admin/admin_handlers.h"

#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "base/file.h"
#include "blame/report/report.h"
#include "proxy/admin/admin_reports.h"
#include "proxy/analysis/analyze.h"
#include "proxy/request/proxy.h"
#include "proxy/request/slow.h"

#define SLOW_DEFAULT 20
#define SLOW_MAX 1000
#define BLAME_NS (3600 * NS_PER_S) /* the last hour, if no time is given */
#define SINCE_MAX_S (10 * 366 * 86400u)

static void
on_answer(struct tale_query *q, int status, const char *type, const char *text,
    size_t length)
{
	struct admin_call *call = q->user;

	call->asked = false;
	if (type == NULL)
		type = tale_format_type(call->format);
	else
		call->extra[0] = '\0';
	admin_reply(call, (unsigned)status, type, text, length);
}

static void
on_pinned(struct tale_query *q, int status, const char *type, const char *text,
    size_t length)
{
	static const char pinned[] = "{\"pinned\":true}\n";

	if (status == 200)
		on_answer(
		    q, 200, "application/json", pinned, sizeof(pinned) - 1);
	else
		on_answer(q, status, type, text, length);
}

/* Prepare a call to wait for an answer in that form. */
static void
call_asks(struct admin_call *call, enum tale_format format)
{
	call->asked = true;
	call->format = format;
	call->question = (struct tale_query){
	    .done = on_answer, .user = call, .missing = 500};
}

/* Return the format that ?format= names, else the one that Accept prefers, else
 * preferred; a negative errno: none is acceptable. */
static int
wanted_format(const struct admin_call *call, enum tale_format preferred)
{
	char name[16];

	if (admin_query_text(call, "format", name, sizeof(name)))
		return tale_format_named(name, strlen(name));
	return negotiate_choose(&call->accept, preferred);
}

bool
admin_wants_page(const struct admin_call *call)
{
	return wanted_format(call, TALE_FORMAT_TEXT) == TALE_FORMAT_HTML;
}

static void
ask_tale(struct admin_call *call, const char *id, enum tale_format preferred,
    const struct tale_client *stamps)
{
	int format = wanted_format(call, preferred);

	if (format < 0) {
		admin_reply_error(
		    call, 406, "the formats are " TALE_FORMATS_TEXT);
		return;
	}
	call_asks(call, (enum tale_format)format);
	negotiate_extra(call->format, id, call->extra);
	call->proxy->metrics.analyze += call->admin == NULL;
	tale_query(call->proxy, &call->question, id, call->format, stamps,
	    stamps != NULL);
}

void
admin_timeline(struct admin_call *call)
{
	static const char path[] = "/timeline/";
	const char *at = strstr(call->path, path) + sizeof(path) - 1;
	char id[65];

	if (analyze_id((struct slice){at, strlen(at)}, id) < 0)
		admin_reply_error(
		    call, 404, "no request had this x-request-id");
	else
		ask_tale(call, id, TALE_FORMAT_TEXT, NULL);
}

void
admin_analyze(struct admin_call *call)
{
	char text[ANALYZE_BODY_MAX], boot_id[37], id[65];
	struct tale_client stamps;
	struct iovec iov[CHAIN_IOV];
	size_t length = 0;
	int n = chain_iov(&call->body, iov, CHAIN_IOV);

	for (int i = 0; i < n && length + iov[i].iov_len <= sizeof(text); i++) {
		memcpy(text + length, iov[i].iov_base, iov[i].iov_len);
		length += iov[i].iov_len;
	}
	file_read_line(
	    boot_id, sizeof(boot_id), "/proc/sys/kernel/random/boot_id");
	if (analyze_parse(text, length, boot_id, id, &stamps) < 0)
		admin_reply_error(call, 400,
		    "the body must be JSON with an id: the x-request-id");
	else
		ask_tale(call, id, TALE_FORMAT_JSON, &stamps);
}

void
admin_pin(struct admin_call *call)
{
	char text[80], id[65];

	admin_query_text(call, "id", text, sizeof(text));
	if (analyze_id((struct slice){text, strlen(text)}, id) < 0) {
		admin_reply_error(call, 400, "wants ?id=ID");
		return;
	}
	call_asks(call, TALE_FORMAT_JSON);
	call->question.done = on_pinned;
	call->proxy->metrics.analyze += call->admin == NULL;
	tale_query(
	    call->proxy, &call->question, id, TALE_FORMAT_JSON, NULL, true);
}

/* Find the order with that name; false: there is none. */
static bool
sort_find(const char *name, enum analysis_sort *out)
{
	static const char *const words[] = {
#define ANALYSIS_X(symbol, word) word,
	    ANALYSIS_SORTS(ANALYSIS_X)
#undef ANALYSIS_X
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(name, words[i]) == 0) {
			*out = (enum analysis_sort)i;
			return true;
		}
	return false;
}

/* Read a time from the query; *ns is unchanged if it is missing.  False after a
 * refusal. */
static bool
query_ns(struct admin_call *call, const char *name, int64_t *ns)
{
	char text[24];

	if (!admin_query_text(call, name, text, sizeof(text)))
		return true;
	if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
		admin_reply_error(
		    call, 400, "since and until are whole numbers of seconds");
		return false;
	}
	*ns = NS_PER_S * admin_query_number(call, name, 1, SINCE_MAX_S);
	return true;
}

static void
refuse_cause(struct admin_call *call)
{
	char text[500];
	size_t n = (size_t)snprintf(
	    text, sizeof(text), "no cause has that code; the codes:");

	for (int i = 0; i < TALE_CAUSE_COUNT && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s",
		    tale_cause_code((enum tale_cause)i));
	admin_reply_error(call, 400, text);
}

void
admin_slow(struct admin_call *call)
{
	struct analysis_question q = {.kind = ANALYSIS_SLOW};
	struct proxy *p = call->proxy;
	char cause[32], sort[16];

	if (!query_ns(call, "since", &q.list.since_ns))
		return;
	q.list.n = admin_query_number(call, "n", SLOW_DEFAULT, SLOW_MAX);
	q.list.target_ns = slow_target_ns(p);
	q.list.slow = p->metrics.slow;
	for (unsigned i = 0; i < MISSED_COUNT; i++)
		q.list.missed[i] = slow_missed(p, (enum missed_reason)i);
	q.list.cause = -1;
	if (admin_query_text(call, "cause", cause, sizeof(cause))) {
		q.list.cause = tale_cause_find(cause);
		if (q.list.cause < 0) {
			refuse_cause(call);
			return;
		}
	}
	if (admin_query_text(call, "sort", sort, sizeof(sort)) &&
	    !sort_find(sort, &q.list.sort)) {
		admin_reply_error(
		    call, 400, "sort by time, total, server, cause or status");
		return;
	}
	admin_query_text(call, "path", q.list.path, sizeof(q.list.path));
	call_asks(call, TALE_FORMAT_JSON);
	tale_ask(p, &call->question, &q);
}

static void
on_accounts(struct tale_query *q, int status, const char *type,
    const char *text, size_t length)
{
	on_answer(q, status, type != NULL ? type : "text/csv; charset=utf-8",
	    text, length);
}

static void
ask_table(struct admin_call *call, enum analysis_kind kind)
{
	struct analysis_question q = {.kind = kind};

	if (!query_ns(call, "since", &q.list.since_ns) ||
	    !query_ns(call, "until", &q.list.until_ns))
		return;
	call_asks(call, TALE_FORMAT_TEXT);
	call->question.done = on_accounts;
	tale_ask(call->proxy, &call->question, &q);
}

void
admin_accounts(struct admin_call *call)
{
	ask_table(call, ANALYSIS_ACCOUNTS);
}

void
admin_latencies(struct admin_call *call)
{
	ask_table(call, ANALYSIS_LATENCIES);
}

void
admin_blame(struct admin_call *call)
{
	struct analysis_question q = {.kind = ANALYSIS_BLAME};
	struct blame_view v = {.route = NULL};
	char *percentile = q.list.percentile;

	if (!query_ns(call, "since", &q.list.since_ns) ||
	    !query_ns(call, "until", &q.list.until_ns))
		return;
	if (q.list.since_ns == 0)
		q.list.since_ns = BLAME_NS + q.list.until_ns;
	admin_query_text(call, "route", q.route, sizeof(q.route));
	if (admin_query_text(
		call, "percentile", percentile, sizeof(q.list.percentile)) &&
	    blame_view_percentile(&v, percentile) < 0) {
		admin_reply_error(
		    call, 400, "a percentile is above 50 and below 100");
		return;
	}
	q.format = admin_wants_page(call) ? TALE_FORMAT_HTML : TALE_FORMAT_JSON;
	call_asks(call, q.format);
	negotiate_extra(q.format, "blame", call->extra);
	tale_ask(call->proxy, &call->question, &q);
}

void
admin_live(struct admin_call *call)
{
	struct analysis_question q = {
	    .kind = ANALYSIS_REPORT, .list = {.n = SLOW_MAX, .cause = -1}};

	q.report = live_report_new(call->proxy);
	if (q.report == NULL) {
		admin_reply_text(call, 500, "out of memory\n");
		return;
	}
	call_asks(call, TALE_FORMAT_JSON);
	tale_ask(call->proxy, &call->question, &q);
}

EMBED(live_html, "proxy/admin/page/live.html");

void
admin_live_page(struct admin_call *call)
{
	/* The page contains the rest of its policy; this part only works as a
	 * header. */
	snprintf(call->extra, sizeof(call->extra),
	    "Content-Security-Policy: frame-ancestors 'none'\r\n");
	admin_reply(call, 200, tale_format_type(TALE_FORMAT_HTML), live_html,
	    (size_t)(live_html_end - live_html));
}
