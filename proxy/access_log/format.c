/* format.c: an access log record as text; see record.h.
 *
 * A pure function.  Text lines are meant for eyes and tools that know
 * HAProxy's HTTP format:
 *
 *   client [date] frontend server TR/Tw/Tc/Tr/Ta status bytes termination flags
 *   conns/inflight attempt/attempts {host|referer|user agent}
 *   "METHOD target HTTP/1.x" id
 *
 * with times in ms, to the microsecond.  Combined lines are Apache's. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/instant.h"
#include "base/text.h"
#include "config/config.h"
#include "proxy/access_log/record.h"

/* The text being written.  ACCESS_LINE_MAX is enough: a test formats the
 * longest record with every byte escaped. */
struct access_text {
	char *at;
	size_t room;
};

static void __attribute__((format(printf, 2, 3)))
print(struct access_text *l, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(l->at, l->room, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= l->room)
		n = (int)(l->room > 0 ? l->room - 1 : 0);
	l->at += n;
	l->room -= (size_t)n;
}

static void
cut_query(char *url)
{
	char *query = strchr(url, '?');

	if (query != NULL)
		query[1] = '\0';
}

void
access_redact_query(struct access_record *r)
{
	cut_query(r->target);
	cut_query(r->referer);
}

void
access_redact_client(struct access_record *r)
{
	struct in6_addr v6;
	char *dot = strrchr(r->client, '.');

	if (inet_pton(AF_INET6, r->client, &v6) == 1) {
		memset(v6.s6_addr + 6, 0, 10);
		inet_ntop(AF_INET6, &v6, r->client, sizeof(r->client));
	} else if (dot != NULL && strlen(dot) >= 2) {
		dot[1] = '0';
		dot[2] = '\0';
	}
}

static void
print_time(struct access_text *l, const char *format, int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	char text[40];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), format, &tm);
	print(l, "%s", text);
}

static void
print_ms(struct access_text *l, int64_t wall_ns)
{
	print(l, ".%03d", (int)(wall_ns % NS_PER_S / NS_PER_MS));
}

/* --- JSON ---------------------------------------------------------------- */

static void
json_escape(struct access_text *l, const char *s, size_t n)
{
	while (n > 0) {
		size_t length = utf8_sequence((const unsigned char *)s, n);
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			print(l, "\\%c", c);
		else if (length == 0 || c < 0x20 || c == 0x7f)
			print(l, "\\u%04x", c);
		else if (utf8_control((const unsigned char *)s, length) != 0)
			print(l, "\\u%04x",
			    utf8_control((const unsigned char *)s, length));
		else
			print(l, "%.*s", (int)length, s);
		length = length > 0 ? length : 1;
		s += length;
		n -= length;
	}
}

static void
json_member(struct access_text *l, const char *key, const char *s, size_t n)
{
	print(l, ",\"%s\":\"", key);
	json_escape(l, s, n);
	print(l, "\"");
}

/* The same, unless s is "". */
static void
json_optional(struct access_text *l, const char *key, const char *s)
{
	if (*s != '\0')
		json_member(l, key, s, strlen(s));
}

static void
json_us(struct access_text *l, const char *key, int64_t ns)
{
	print(l, ",\"%s\":%lld", key,
	    ns < 0 ? -1LL : (long long)(ns / NS_PER_US));
}

static void
format_json(const struct access_record *r, struct access_text *l)
{
	size_t path = strcspn(r->target, "?");

	print(l, "{\"ts\":\"");
	print_time(l, "%Y-%m-%dT%H:%M:%S", r->wall_ns);
	print_ms(l, r->wall_ns);
	print(l, "Z\"");
	json_member(l, "id", r->id, strlen(r->id));
	json_optional(l, "trace_id", r->trace_id);
	json_member(l, "client", r->client, strlen(r->client));
	json_member(l, "method", r->method, strlen(r->method));
	json_member(l, "path", r->target, path);
	if (r->target[path] == '?')
		json_member(l, "query", r->target + path + 1,
		    strlen(r->target + path + 1));
	if (r->minor >= 0)
		print(l, ",\"version\":\"1.%d\"", r->minor);
	json_optional(l, "host", r->host);
	json_optional(l, "referer", r->referer);
	json_optional(l, "user_agent", r->user_agent);
	print(l, ",\"status\":%d", r->status);
	json_member(l, "upstream", r->upstream, strlen(r->upstream));
	print(l, ",\"reused\":%s,\"attempt\":%u,\"attempts\":%u",
	    r->reused ? "true" : "false", r->attempt, r->attempts);
	json_optional(l, "trigger", r->trigger);
	print(l, ",\"bytes_in\":%llu,\"bytes_out\":%llu",
	    (unsigned long long)r->bytes_in, (unsigned long long)r->bytes_out);
	json_us(l, "t_recv_us", r->receive_ns);
	json_us(l, "t_queue_us", r->queue_ns);
	json_us(l, "t_connect_us", r->connect_ns);
	json_us(l, "t_upstream_us", r->upstream_ns);
	json_us(l, "t_send_us", r->send_ns);
	json_us(l, "t_total_us", r->total_ns);
	json_member(l, "termination", r->termination, strlen(r->termination));
	json_member(l, "flags", r->flags, strlen(r->flags));
	print(l, "}\n");
}

/* --- text ----------------------------------------------------------------- */

/* Append s escaped.  ends: delimiters that must be escaped, too. */
static void
text_escape(struct access_text *l, const char *s, const char *ends)
{
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			print(l, "\\%c", c);
		else if (c < 0x20 || c > 0x7e || strchr(ends, c) != NULL)
			print(l, "\\x%02x", c);
		else
			print(l, "%c", c);
	}
}

static void
text_time(struct access_text *l, int64_t ns, char separator)
{
	if (ns < 0)
		print(l, "-1%c", separator);
	else
		print(l, "%lld.%03d%c", (long long)(ns / NS_PER_MS),
		    (int)(ns % NS_PER_MS / NS_PER_US), separator);
}

/* Append "METHOD target HTTP/1.1", like Apache and HAProxy. */
static void
text_request(struct access_text *l, const struct access_record *r)
{
	print(l, "\"");
	text_escape(l, r->method, "");
	print(l, " ");
	text_escape(l, r->target, "");
	if (r->minor >= 0)
		print(l, " HTTP/1.%d", r->minor);
	print(l, "\"");
}

static void
format_text(const struct access_record *r, struct access_text *l)
{
	print(l, "%s [", r->client);
	print_time(l, "%d/%b/%Y:%H:%M:%S", r->wall_ns);
	print_ms(l, r->wall_ns);
	print(l, "] tailor %s ", r->upstream[0] != '\0' ? r->upstream : "-");
	text_time(l, r->receive_ns, '/');
	text_time(l, r->queue_ns, '/');
	text_time(l, r->connect_ns, '/');
	text_time(l, r->upstream_ns, '/');
	text_time(l, r->total_ns, ' ');
	print(l, "%d %llu %s %s %u/%u %u/%u%s%s {", r->status,
	    (unsigned long long)r->bytes_out, r->termination,
	    r->flags[0] != '\0' ? r->flags : "-", r->connections, r->inflight,
	    r->attempt, r->attempts, r->trigger[0] != '\0' ? "," : "",
	    r->trigger);
	text_escape(l, r->host, "|}");
	print(l, "|");
	text_escape(l, r->referer, "|}");
	print(l, "|");
	text_escape(l, r->user_agent, "|}");
	print(l, "} ");
	text_request(l, r);
	print(l, " ");
	text_escape(l, r->id, "");
	print(l, "\n");
}

/* Append s in quotes, or "-" for "". */
static void
text_quoted(struct access_text *l, const char *s)
{
	print(l, " \"");
	text_escape(l, *s != '\0' ? s : "-", "");
	print(l, "\"");
}

static void
format_combined(const struct access_record *r, struct access_text *l)
{
	print(l, "%s - - [", r->client);
	print_time(l, "%d/%b/%Y:%H:%M:%S +0000", r->wall_ns);
	print(l, "] ");
	text_request(l, r);
	print(l, " %d %llu", r->status, (unsigned long long)r->bytes_out);
	text_quoted(l, r->referer);
	text_quoted(l, r->user_agent);
	print(l, "\n");
}

size_t
access_format(const struct access_record *r, char *out)
{
	struct access_text l = {out, ACCESS_LINE_MAX};

	switch ((enum config_access)r->format) {
	case CONFIG_ACCESS_JSON:
		format_json(r, &l);
		break;
	case CONFIG_ACCESS_TEXT:
		format_text(r, &l);
		break;
	case CONFIG_ACCESS_COMBINED:
		format_combined(r, &l);
		break;
	}
	return (size_t)(l.at - out);
}
