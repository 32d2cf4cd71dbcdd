#include "talechain/render/markup.h"

#include <inttypes.h>
#include <math.h>

#include "talechain/tale/tale_struct.h"

static int
is_plain(unsigned char c)
{
	return c >= 0x20 && c <= 0x7e && c != '\\';
}

static void
put(struct text *x, unsigned char c)
{
	const char *entity = xml_entity((char)c);

	if (!is_plain(c))
		text_add(x, "\\x%02x", c);
	else if (entity != NULL)
		text_puts(x, entity);
	else
		text_put(x, (const char *)&c, 1);
}

void
markup_text(struct text *x, const char *s)
{
	for (; *s != '\0'; s++)
		put(x, (unsigned char)*s);
}

size_t
markup_width(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += is_plain((unsigned char)*s) ? 1 : 4;
	return n;
}

void
markup_cut(struct text *x, const char *s, size_t width)
{
	size_t step;

	if (markup_width(s) <= width) {
		markup_text(x, s);
		return;
	}
	for (size_t n = 0; *s != '\0'; s++, n += step) {
		step = is_plain((unsigned char)*s) ? 1 : 4;
		if (n + step + 3 > width)
			break;
		put(x, (unsigned char)*s);
	}
	text_add(x, "...");
}

char *
markup_span(char out[MARKUP_TIME], int64_t ns)
{
	static const struct {
		double ns;
		const char *name;
	} unit[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\xc2\xb5s"}};
	double v = fabs((double)ns);

	for (size_t i = 0; i < 3; i++) {
		if (v < unit[i].ns * 0.9995)
			continue;
		v = (double)ns / unit[i].ns;
		snprintf(out, MARKUP_TIME, "%.*f %s",
		    fabs(v) < 9.995   ? 2
		    : fabs(v) < 99.95 ? 1
				      : 0,
		    v, unit[i].name);
		return out;
	}
	snprintf(out, MARKUP_TIME, "%" PRId64 " ns", ns);
	return out;
}

char *
markup_moment(char out[MARKUP_TIME], int64_t ns)
{
	snprintf(out, MARKUP_TIME, "%.3f ms", text_ms_of(ns));
	return out;
}

const char *
client_id(const struct tale_request *r)
{
	char ours[20];

	snprintf(ours, sizeof(ours), "%016" PRIx64, r->id);
	return strcmp(ours, r->external_id) != 0 ? r->external_id : "";
}

char *
origin_words(const struct story *s, char out[ORIGIN_WORDS])
{
	const struct story_origin *o = &s->origin;
	const struct tale_attempt *a = s->tale->request.attempt;
	char begun[40], host[80], name[40];

	out[0] = '\0';
	if (o->begun_wall_ns > 0)
		text_append(out, ORIGIN_WORDS, "begun %s",
		    text_wall(begun, o->begun_wall_ns));
	if (o->host[0] != '\0')
		text_append(out, ORIGIN_WORDS, "%son %s",
		    out[0] != '\0' ? " " : "",
		    text_safe(host, sizeof(host), o->host));
	for (int i = 0; i < TALE_ATTEMPTS; i++)
		if (a[i].server >= 0 && tale_attempt_pid(s->tale, i) != 0)
			text_append(out, ORIGIN_WORDS, "%sserver %s pid %u",
			    out[0] != '\0' ? ", " : "",
			    tale_server_name(
				s->tale, a[i].server, name, sizeof(name)),
			    tale_attempt_pid(s->tale, i));
	if (o->version != NULL)
		text_append(out, ORIGIN_WORDS, "%sTailor %s",
		    out[0] != '\0' ? ", " : "", o->version);
	return out;
}
