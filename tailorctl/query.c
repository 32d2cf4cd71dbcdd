/* query.c: a recursive-descent parser that evaluates as it parses, without a
 * tree.  Depth and sizes are bounded. */
#include "tailorctl/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"

enum query_operator {
	EQUAL,
	UNEQUAL,
	LESS_EQUAL,
	MORE_EQUAL,
	LACKS,
	LESS,
	MORE,
	CONTAINS,
	ALONE
};

static const char operators[][3] = {
    [EQUAL] = "==",
    [UNEQUAL] = "!=",
    [LESS_EQUAL] = "<=",
    [MORE_EQUAL] = ">=",
    [LACKS] = "!~",
    [LESS] = "<",
    [MORE] = ">",
    [CONTAINS] = "~",
};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

/* The right side of a comparison: a part of the query. */
struct literal {
	const char *text;
	size_t length;
	bool is_number;
	uint64_t number;
};

struct parser {
	const char *at, *text;
	unsigned depth;
	query_lookup *lookup;
	void *user;
	struct query_error *error;
};

static int __attribute__((format(printf, 3, 4)))
fail(struct parser *p, const char *at, const char *format, ...)
{
	va_list arguments;

	p->error->column = (unsigned)(at - p->text) + 1;
	va_start(arguments, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static void
skip_space(struct parser *p)
{
	p->at += strspn(p->at, " \t\n");
}

static size_t
word_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) ||
	       (at[n] != '\0' && strchr("_.-/:", at[n]) != NULL))
		n++;
	return n;
}

/* Take a keyword; false: it is not next. */
static bool
take_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	skip_space(p);
	if (word_length(p->at) != n || memcmp(p->at, word, n) != 0)
		return false;
	p->at += n;
	return true;
}

/* Copy the next word, for a message. */
static const char *
here(const struct parser *p, char out[32])
{
	size_t n = word_length(p->at);

	if (*p->at == '\0')
		return "the end";
	if (n == 0)
		n = 1;
	snprintf(out, 32, "\"%.*s\"", (int)(n < 24 ? n : 24), p->at);
	/* The query may come from outside: no control characters. */
	for (char *c = out; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return out;
}

/* Take a comparison operator; ALONE: none is next; or -EINVAL. */
static int
take_operator(struct parser *p)
{
	skip_space(p);
	for (unsigned i = 0; i < OPERATORS; i++) {
		size_t n = strlen(operators[i]);

		if (strncmp(p->at, operators[i], n) == 0) {
			p->at += n;
			return (int)i;
		}
	}
	if (*p->at != '\0' && strchr("=!&|", *p->at) != NULL)
		return fail(p, p->at,
		    "the comparisons are == != < <= > >= ~ !~, and parts are "
		    "joined by and, or, not");
	return ALONE;
}

/* Parse "0.5ms" or "64k" as a number; false if word is none. */
static bool
number_of(const char *word, size_t length, uint64_t *out)
{
	char text[QUERY_WORD];

	if (length >= sizeof(text))
		return false;
	memcpy(text, word, length);
	text[length] = '\0';
	return quantity_parse(QUANTITY_BYTES, text, 1, out) == 0 ||
	       quantity_parse(QUANTITY_DURATION, text, 1, out) == 0;
}

static int
take_literal(struct parser *p, enum query_operator kind, struct literal *out)
{
	bool of_text = kind == CONTAINS || kind == LACKS;
	const char *end;
	char word[32];

	skip_space(p);
	*out = (struct literal){.text = p->at, .length = word_length(p->at)};
	if (*p->at == '"' || *p->at == '\'') {
		end = strchr(p->at + 1, *p->at);
		if (end == NULL)
			return fail(p, p->at, "this quote is not closed");
		out->text++;
		out->length = (size_t)(end - out->text);
		p->at = end + 1;
		return 0;
	}
	if (out->length == 0)
		return fail(
		    p, p->at, "expected a value here, not %s", here(p, word));
	out->is_number =
	    !of_text && number_of(out->text, out->length, &out->number);
	if (!out->is_number && isdigit((unsigned char)*p->at) && !of_text &&
	    kind != EQUAL && kind != UNEQUAL)
		return fail(p, p->at,
		    "%s is not a number; units are ns us ms s m h, k M G",
		    here(p, word));
	p->at += out->length;
	return 0;
}

static bool
judge(const struct query_value *v, enum query_operator kind,
    const struct literal *with)
{
	char digits[24];
	const char *text = digits;
	int order;

	if (v->kind == QUERY_MISSING)
		return false;
	if (kind == ALONE)
		return v->kind == QUERY_NUMBER ? v->number != 0
					       : v->text[0] != '\0';
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v->number);
	if (v->kind == QUERY_TEXT)
		text = v->text;
	if (kind == CONTAINS || kind == LACKS)
		return (memmem(text, strlen(text), with->text, with->length) !=
			   NULL) == (kind == CONTAINS);
	if (v->kind == QUERY_NUMBER && !with->is_number)
		return kind == UNEQUAL;
	if (v->kind == QUERY_NUMBER)
		order = (v->number > with->number) - (v->number < with->number);
	else if ((order = strncmp(text, with->text, with->length)) == 0)
		order = text[with->length] != '\0';
	return (order == 0 && (kind == EQUAL || kind == LESS_EQUAL ||
				  kind == MORE_EQUAL)) ||
	       (order < 0 && (kind == LESS || kind == LESS_EQUAL)) ||
	       (order > 0 && (kind == MORE || kind == MORE_EQUAL)) ||
	       (order != 0 && kind == UNEQUAL);
}

/* Match FIELD [ comparison ]. */
static int
match_comparison(struct parser *p)
{
	const char *begin = p->at;
	size_t n = word_length(p->at);
	char field[QUERY_WORD], word[32];
	struct query_value v;
	struct literal with = {.length = 0};
	int kind;

	if (n == 0 || isdigit((unsigned char)p->at[0]))
		return fail(
		    p, p->at, "expected a field here, not %s", here(p, word));
	if (n >= QUERY_WORD)
		return fail(p, p->at, "this name is too long");
	snprintf(field, sizeof(field), "%.*s", (int)n, p->at);
	p->at += n;
	kind = take_operator(p);
	if (kind < 0 ||
	    (kind != ALONE &&
		take_literal(p, (enum query_operator)kind, &with) < 0))
		return -EINVAL;
	v = p->lookup(field, p->user);
	if (v.kind == QUERY_UNKNOWN)
		return fail(p, begin, "%s no field \"%.40s\"", v.text, field);
	if (v.time && with.is_number && with.number > 0 &&
	    isdigit((unsigned char)with.text[with.length - 1]))
		return fail(p, with.text,
		    "%s is a time and needs a unit: %.*sms, or us, ns, s",
		    field, (int)with.length, with.text);
	return judge(&v, (enum query_operator)kind, &with);
}

static int match_or(struct parser *p);

static int
match_one(struct parser *p)
{
	const char *begin;
	int result;

	skip_space(p);
	begin = p->at;
	if (p->depth == QUERY_DEPTH_MAX)
		return fail(p, p->at, "more than %u levels", QUERY_DEPTH_MAX);
	p->depth++;
	if (take_word(p, "not")) {
		result = match_one(p);
		result = result < 0 ? result : !result;
	} else if (*p->at == '(') {
		p->at++;
		result = match_or(p);
		if (result < 0)
			return result;
		skip_space(p);
		if (*p->at != ')')
			return fail(p, begin, "this parenthesis is not closed");
		p->at++;
	} else {
		result = match_comparison(p);
	}
	p->depth--;
	return result;
}

static int
match_and(struct parser *p)
{
	int left = match_one(p), right = 0;

	while (left >= 0 && right >= 0 && take_word(p, "and")) {
		right = match_one(p);
		left = left && right;
	}
	return right < 0 ? right : left;
}

static int
match_or(struct parser *p)
{
	int left = match_and(p), right = 0;

	while (left >= 0 && right >= 0 && take_word(p, "or")) {
		right = match_and(p);
		left = left || right;
	}
	return right < 0 ? right : left;
}

int
query_match(const char *text, query_lookup *lookup, void *user,
    struct query_error *error)
{
	struct parser p = {.at = text,
	    .text = text,
	    .lookup = lookup,
	    .user = user,
	    .error = error};
	char word[32];
	int result;

	if (strlen(text) > QUERY_TEXT_MAX)
		return fail(&p, text + QUERY_TEXT_MAX, "longer than %u bytes",
		    QUERY_TEXT_MAX);
	result = match_or(&p);
	if (result < 0)
		return result;
	skip_space(&p);
	if (*p.at != '\0')
		return fail(&p, p.at,
		    "expected and, or, or the end here, not %s",
		    here(&p, word));
	return result;
}
