#include "loadgen/send/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/random.h"
#include "http/writer.h"

static int
digits_of(uint64_t n)
{
	int digits = 1;

	while (n >= 10) {
		n /= 10;
		digits++;
	}
	return digits;
}

static int
at_least(int a, int b)
{
	return a > b ? a : b;
}

void
request_ids_init(struct request_ids *ids, uint64_t run, const struct plan *plan)
{
	ids->run = run;
	ids->iteration_digits = at_least(2, digits_of(plan->iterations));
	ids->number_digits = at_least(4, digits_of(plan->requests));
	ids->number_digits =
	    at_least(ids->number_digits, 1 + digits_of(plan->warmup));
}

/* Write the last n decimal digits of value; returns the position behind them.
 */
static char *
put_decimal(char *out, uint64_t value, int n)
{
	for (int i = n - 1; i >= 0; i--) {
		out[i] = (char)('0' + value % 10);
		value /= 10;
	}
	return out + n;
}

static char *
put_hexadecimal(char *out, uint64_t value)
{
	digits_hex(out, value);
	return out + DIGITS_HEX;
}

static char *
put_id(
    const struct request_ids *ids, const struct request_name *name, char *out)
{
	int digits = ids->number_digits;

	/* Keep the first 8 digits; the others are overwritten. */
	(void)put_hexadecimal(out, ids->run);
	out += 8;
	*out++ = '-';
	out = put_decimal(out, name->iteration, ids->iteration_digits);
	*out++ = '-';
	if (name->warmup) {
		*out++ = 'w';
		digits--;
	}
	return put_decimal(out, name->number, digits);
}

size_t
request_id_format(const struct request_ids *ids,
    const struct request_name *name, char out[REQUEST_ID_MAX])
{
	char *end = put_id(ids, name, out);

	*end = '\0';
	return (size_t)(end - out);
}

/* Write trace ids that look random and never repeat within a run.  They are
 * computed from the request's name, so they need not be stored.  Neither may be
 * all zeros. */
static void
put_trace(
    const struct request_ids *ids, const struct request_name *name, char *out)
{
	uint64_t state = ids->run ^ (uint64_t)name->iteration << 33 ^
			 (uint64_t)name->warmup << 32 ^ name->number;
	uint64_t high = splitmix64(&state);
	uint64_t low = splitmix64(&state) | 1;
	uint64_t parent = splitmix64(&state) | 1;

	memcpy(out, "00-", 3);
	out = put_hexadecimal(out + 3, high);
	out = put_hexadecimal(out, low);
	*out++ = '-';
	out = put_hexadecimal(out, parent);
	memcpy(out, "-01", 3);
}

void
request_trace_format(const struct request_ids *ids,
    const struct request_name *name, char out[REQUEST_TRACE_LENGTH + 1])
{
	put_trace(ids, name, out);
	out[REQUEST_TRACE_LENGTH] = '\0';
}

static bool
name_is(const char *header, size_t length, const char *name)
{
	return strlen(name) == length && strncasecmp(header, name, length) == 0;
}

/* Return the fault of "Name: value" in words, or NULL. */
static const char *
header_wrong(const char *header)
{
	static const char *const ours[] = {"content-length",
	    "transfer-encoding", "traceparent", "x-request-id"};
	size_t n = 0;

	while (token_char(header[n]))
		n++;
	if (n == 0 || header[n] != ':')
		return "must be 'Name: value'";
	for (const char *c = header + n; *c != '\0'; c++) {
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
			return "has a control character";
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (name_is(header, n, ours[i]))
			return "is written by tailor-load itself";
	}
	return NULL;
}

static bool
header_given(const struct plan *plan, const char *name)
{
	for (unsigned i = 0; i < plan->header_count; i++) {
		if (name_is(
			plan->headers[i], strcspn(plan->headers[i], ":"), name))
			return true;
	}
	return false;
}

struct body {
	const char *bytes;
	size_t length;
	char *file; /* owned, or NULL */
};

static int
body_open(struct body *b, const struct plan *plan, char *why, size_t why_size)
{
	int err;

	*b = (struct body){.bytes = plan->data};
	if (plan->data == NULL)
		return 0;
	b->length = strlen(plan->data);
	if (*plan->data != '@')
		return 0;
	err = file_read(plan->data + 1, &b->file, &b->length);
	if (err < 0)
		snprintf(
		    why, why_size, "%s: %s", plan->data + 1, strerror(-err));
	b->bytes = b->file;
	return err;
}

/* True for methods that also need Content-Length for an empty body (RFC 9110,
 * 8.6). */
static bool
has_body_by_meaning(const char *method)
{
	return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
	       strcmp(method, "PATCH") == 0;
}

static void
write_headers(FILE *f, const char *method, const struct plan *plan,
    const struct target *t, const struct body *body)
{
	if (!header_given(plan, "host"))
		fprintf(f, "Host: %s\r\n", t->server.authority);
	if (!header_given(plan, "user-agent"))
		fputs("User-Agent: tailor-load/" TAILOR_VERSION "\r\n", f);
	if (!header_given(plan, "accept"))
		fputs("Accept: */*\r\n", f);
	for (unsigned i = 0; i < plan->header_count; i++)
		fprintf(f, "%s\r\n", plan->headers[i]);
	if (body->bytes == NULL) {
		/* Without it some servers refuse (411), or wait for a body. */
		if (has_body_by_meaning(method))
			fputs("Content-Length: 0\r\n", f);
		return;
	}
	if (!header_given(plan, "content-type"))
		fputs("Content-Type: application/x-www-form-urlencoded\r\n", f);
	fprintf(f, "Content-Length: %zu\r\n", body->length);
}

static int
text_make(struct request_texts *r, const struct plan *plan,
    const struct target *t, const struct body *body, size_t which)
{
	struct request_text *text = &r->texts[which];
	const struct request_name any = {.iteration = 1, .number = 1};
	char id[REQUEST_ID_MAX];
	char trace[REQUEST_TRACE_LENGTH + 1];
	FILE *f = open_memstream(&text->bytes, &text->length);

	if (f == NULL)
		return -ENOMEM;
	(void)request_id_format(&r->ids, &any, id);
	request_trace_format(&r->ids, &any, trace);
	fprintf(f, "%s %s HTTP/1.1\r\n", r->method, t->paths[which]);
	write_headers(f, r->method, plan, t, body);
	fputs("x-request-id: ", f);
	text->id_at = (size_t)ftell(f);
	fprintf(f, "%s\r\ntraceparent: ", id);
	text->trace_at = (size_t)ftell(f);
	fprintf(f, "%s\r\n\r\n", trace);
	if (body->bytes != NULL)
		fwrite(body->bytes, 1, body->length, f);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

int
request_texts_open(struct request_texts *r, const struct plan *plan,
    const struct target *t, uint64_t run, char *why, size_t why_size)
{
	struct body body;
	int err;

	memset(r, 0, sizeof(*r));
	request_ids_init(&r->ids, run, plan);
	r->method = plan->method != NULL ? plan->method
		    : plan->data != NULL ? "POST"
					 : "GET";
	r->is_head = strcmp(r->method, "HEAD") == 0;
	for (unsigned i = 0; i < plan->header_count; i++) {
		const char *wrong = header_wrong(plan->headers[i]);
		if (wrong == NULL)
			continue;
		snprintf(
		    why, why_size, "header \"%s\" %s", plan->headers[i], wrong);
		return -EINVAL;
	}
	err = body_open(&body, plan, why, why_size);
	if (err < 0)
		return err;
	r->texts = calloc(t->path_count, sizeof(*r->texts));
	if (r->texts == NULL) {
		err = -ENOMEM;
		goto fail_body;
	}
	r->count = t->path_count;
	for (size_t i = 0; i < r->count; i++) {
		err = text_make(r, plan, t, &body, i);
		if (err < 0)
			goto fail_texts;
	}
	free(body.file);
	return 0;

fail_texts:
	request_texts_close(r);
fail_body:
	snprintf(why, why_size, "out of memory for the requests");
	free(body.file);
	return err;
}

void
request_texts_close(struct request_texts *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->texts[i].bytes);
	free(r->texts);
	r->texts = NULL;
	r->count = 0;
}

const struct request_text *
request_fill(struct request_texts *r, const struct request_name *name)
{
	struct request_text *text = &r->texts[(name->number - 1) % r->count];

	(void)put_id(&r->ids, name, text->bytes + text->id_at);
	put_trace(&r->ids, name, text->bytes + text->trace_at);
	return text;
}
