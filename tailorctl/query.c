/* query.c: parse and match.
 *
 * Recursive descent into an array of nodes; everything is bounded. */
#include "tailorctl/query.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum node_kind {
	NODE_OR,
	NODE_AND,
	NODE_NOT,
	NODE_FIELD, /* alone */
	NODE_EQUAL,
	NODE_UNEQUAL,
	NODE_LESS,
	NODE_LESS_EQUAL,
	NODE_MORE,
	NODE_MORE_EQUAL,
	NODE_CONTAINS,
	NODE_LACKS,
};

struct node {
	enum node_kind kind;
	unsigned left, right; /* of operators: nodes */
	char field[QUERY_WORD];
	unsigned column;
	struct query_value value;
};

struct query {
	char *text; /* owned: values point into it */
	struct node node[QUERY_NODES_MAX];
	unsigned nodes, root;
};

struct parser {
	struct query *q;
	const char *at; /* in the given text */
	const char *text;
	char *copy; /* the same, for terminators */
	unsigned depth;
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
	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
		p->at++;
}

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' ||
	       c == '/' || c == ':';
}

static size_t
word_length(const char *at)
{
	size_t n = 0;

	while (is_word(at[n]))
		n++;
	return n;
}

/* Take a keyword if it is there. */
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

/* A new node, or a negative errno. */
static int
node_new(struct parser *p, enum node_kind kind)
{
	struct query *q = p->q;

	if (q->nodes == QUERY_NODES_MAX)
		return fail(p, p->at, "more than %u parts", QUERY_NODES_MAX);
	q->node[q->nodes].kind = kind;
	return (int)q->nodes++;
}

/* The word at this place, for a message. */
static const char *
here(const struct parser *p, char out[32])
{
	size_t n = word_length(p->at);

	if (*p->at == '\0')
		return "the end";
	if (n == 0)
		n = 1;
	snprintf(out, 32, "\"%.*s\"", (int)(n < 24 ? n : 24), p->at);
	/* Bytes from outside, into a terminal. */
	for (char *c = out; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return out;
}

static const struct {
	char text[3];
	enum node_kind kind;
} operators[] = {
    {"==", NODE_EQUAL},
    {"!=", NODE_UNEQUAL},
    {"<=", NODE_LESS_EQUAL},
    {">=", NODE_MORE_EQUAL},
    {"!~", NODE_LACKS},
    {"<", NODE_LESS},
    {">", NODE_MORE},
    {"~", NODE_CONTAINS},
};

/* 1 and the kind of the comparison at this place; 0: none; or -EINVAL. */
static int
take_operator(struct parser *p, enum node_kind *kind)
{
	skip_space(p);
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t n = strlen(operators[i].text);

		if (strncmp(p->at, operators[i].text, n) == 0) {
			p->at += n;
			*kind = operators[i].kind;
			return 1;
		}
	}
	if (*p->at == '=' || *p->at == '!' || *p->at == '&' || *p->at == '|')
		return fail(p, p->at,
		    "the comparisons are == != < <= > >= ~ !~, and parts are "
		    "joined by and, or, not");
	return 0;
}

static const struct {
	char text[3];
	uint64_t factor;
} units[] = {
    {"", 1},
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", 60000000000},
    {"k", 1024},
    {"M", 1048576},
};

/* "0.5ms" as a number; false if it is none. */
static bool
number_of(const char *word, size_t length, uint64_t *out)
{
	char text[QUERY_WORD], *end;
	uint64_t factor = 0;
	double value;

	if (length >= sizeof(text) || !isdigit((unsigned char)word[0]))
		return false;
	memcpy(text, word, length);
	text[length] = '\0';
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*end == '\0')
		return errno == 0; /* integers stay exact */
	if (strspn(text, "0123456789.") != strcspn(text, "numskM"))
		return false; /* not 1e9, 0x1p3 or inf */
	value = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].text) == 0)
			factor = units[i].factor;
	value *= (double)factor;
	if (factor == 0 || !(value < 18e18))
		return false;
	*out = (uint64_t)(value + 0.5);
	return true;
}

/* A text in quotes, cut out of the copy. */
static int
take_quoted(struct parser *p, struct query_value *out)
{
	const char *end = strchr(p->at + 1, *p->at);
	char *copy = p->copy + (p->at - p->text);

	if (end == NULL)
		return fail(p, p->at, "this quote is not closed");
	copy[end - p->at] = '\0';
	out->kind = QUERY_TEXT;
	out->text = copy + 1;
	p->at = end + 1;
	return 0;
}

static int
take_value(struct parser *p, enum node_kind kind, struct query_value *out)
{
	char *copy, word[32];
	size_t n;

	skip_space(p);
	if (*p->at == '"' || *p->at == '\'')
		return take_quoted(p, out);
	n = word_length(p->at);
	if (n == 0)
		return fail(
		    p, p->at, "expected a value here, not %s", here(p, word));
	out->kind = QUERY_NUMBER;
	if (kind != NODE_CONTAINS && kind != NODE_LACKS &&
	    number_of(p->at, n, &out->number)) {
		p->at += n;
		return 0;
	}
	if (isdigit((unsigned char)p->at[0]) && kind != NODE_CONTAINS &&
	    kind != NODE_LACKS && kind != NODE_EQUAL && kind != NODE_UNEQUAL)
		return fail(p, p->at,
		    "%s is not a number; units are ns us ms s m, k M",
		    here(p, word));
	copy = p->copy + (p->at - p->text);
	/* The byte after the word may be an operator, which the parser reads
	 * from the original text. */
	out->kind = QUERY_TEXT;
	out->text = copy;
	copy[n] = '\0';
	p->at += n;
	return 0;
}

/* FIELD [ comparison ] */
static int
parse_comparison(struct parser *p)
{
	size_t n = word_length(p->at);
	struct node *node;
	char word[32];
	int at, found, err;

	if (n == 0 || isdigit((unsigned char)p->at[0]))
		return fail(
		    p, p->at, "expected a field here, not %s", here(p, word));
	if (n >= QUERY_WORD)
		return fail(p, p->at, "this name is too long");
	at = node_new(p, NODE_FIELD);
	if (at < 0)
		return at;
	node = &p->q->node[at];
	memcpy(node->field, p->at, n);
	node->field[n] = '\0';
	node->column = (unsigned)(p->at - p->text) + 1;
	p->at += n;
	found = take_operator(p, &node->kind);
	if (found <= 0)
		return found < 0 ? found : at;
	err = take_value(p, node->kind, &node->value);
	return err < 0 ? err : at;
}

static int parse_or(struct parser *p);

static int
parse_one(struct parser *p)
{
	const char *begin;
	int at, inner;

	skip_space(p);
	begin = p->at;
	if (p->depth == QUERY_DEPTH_MAX)
		return fail(p, p->at, "more than %u levels", QUERY_DEPTH_MAX);
	p->depth++;
	if (take_word(p, "not")) {
		at = node_new(p, NODE_NOT);
		inner = at < 0 ? at : parse_one(p);
		if (inner < 0)
			return inner;
		p->q->node[at].left = (unsigned)inner;
	} else if (*p->at == '(') {
		p->at++;
		at = parse_or(p);
		if (at < 0)
			return at;
		skip_space(p);
		if (*p->at != ')')
			return fail(p, begin, "this parenthesis is not closed");
		p->at++;
	} else {
		at = parse_comparison(p);
	}
	p->depth--;
	return at;
}

/* A row of operands of one operator. */
static int
parse_row(struct parser *p, const char *word, enum node_kind kind,
    int (*operand)(struct parser *p))
{
	int left = operand(p), right, at;

	while (left >= 0 && take_word(p, word)) {
		right = operand(p);
		if (right < 0)
			return right;
		at = node_new(p, kind);
		if (at < 0)
			return at;
		p->q->node[at].left = (unsigned)left;
		p->q->node[at].right = (unsigned)right;
		left = at;
	}
	return left;
}

static int
parse_and(struct parser *p)
{
	return parse_row(p, "and", NODE_AND, parse_one);
}

static int
parse_or(struct parser *p)
{
	return parse_row(p, "or", NODE_OR, parse_and);
}

static int
parse_whole(struct parser *p)
{
	char word[32];
	int root;

	if (strlen(p->text) > QUERY_TEXT_MAX)
		return fail(p, p->text + QUERY_TEXT_MAX, "longer than %u bytes",
		    QUERY_TEXT_MAX);
	root = parse_or(p);
	if (root < 0)
		return root;
	skip_space(p);
	if (*p->at != '\0')
		return fail(p, p->at,
		    "expected and, or, or the end here, not %s", here(p, word));
	p->q->root = (unsigned)root;
	return 0;
}

int
query_parse(struct query **out, const char *text, struct query_error *error)
{
	struct query *q = calloc(1, sizeof(*q));
	struct parser p = {.q = q, .at = text, .text = text, .error = error};
	int err;

	if (q != NULL)
		q->text = strdup(text);
	if (q == NULL || q->text == NULL) {
		query_free(&q);
		return -ENOMEM;
	}
	p.copy = q->text;
	err = parse_whole(&p);
	if (err < 0)
		query_free(&q);
	else
		*out = q;
	return err;
}

void
query_free(struct query **qp)
{
	if (*qp != NULL)
		free((*qp)->text);
	free(*qp);
	*qp = NULL;
}

const char *
query_field(const struct query *q, unsigned n, unsigned *column)
{
	for (unsigned i = 0; i < q->nodes; i++)
		if (q->node[i].kind >= NODE_FIELD && n-- == 0) {
			*column = q->node[i].column;
			return q->node[i].field;
		}
	return NULL;
}

/* -1, 0, 1; false if a number and a text have met. */
static bool
compare(const struct query_value *a, const struct query_value *b, int *order)
{
	char digits[24];

	if (a->kind == QUERY_NUMBER && b->kind == QUERY_NUMBER) {
		*order = (a->number > b->number) - (a->number < b->number);
		return true;
	}
	if (a->kind == QUERY_TEXT && b->kind == QUERY_TEXT) {
		*order = strcmp(a->text, b->text);
		return true;
	}
	/* Compare the number as text: server == 0. */
	if (a->kind == QUERY_TEXT && b->kind == QUERY_NUMBER) {
		snprintf(digits, sizeof(digits), "%llu",
		    (unsigned long long)b->number);
		*order = strcmp(a->text, digits);
		return true;
	}
	return false;
}

static bool
contains(const struct query_value *a, const struct query_value *b)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)a->number);
	return strstr(a->kind == QUERY_TEXT ? a->text : digits, b->text) !=
	       NULL;
}

static bool
judge(const struct node *n, const struct query_value *v)
{
	int order = 0;

	if (v->kind == QUERY_MISSING)
		return false;
	if (n->kind == NODE_FIELD)
		return v->kind == QUERY_NUMBER ? v->number != 0
					       : v->text[0] != '\0';
	if (n->kind == NODE_CONTAINS || n->kind == NODE_LACKS)
		return contains(v, &n->value) == (n->kind == NODE_CONTAINS);
	if (!compare(v, &n->value, &order))
		return n->kind == NODE_UNEQUAL;
	return (n->kind == NODE_EQUAL && order == 0) ||
	       (n->kind == NODE_UNEQUAL && order != 0) ||
	       (n->kind == NODE_LESS && order < 0) ||
	       (n->kind == NODE_LESS_EQUAL && order <= 0) ||
	       (n->kind == NODE_MORE && order > 0) ||
	       (n->kind == NODE_MORE_EQUAL && order >= 0);
}

static bool
match(const struct query *q, unsigned at, query_lookup *lookup, void *user)
{
	const struct node *n = &q->node[at];
	struct query_value v;

	switch (n->kind) {
	case NODE_OR:
		return match(q, n->left, lookup, user) ||
		       match(q, n->right, lookup, user);
	case NODE_AND:
		return match(q, n->left, lookup, user) &&
		       match(q, n->right, lookup, user);
	case NODE_NOT:
		return !match(q, n->left, lookup, user);
	case NODE_FIELD:
	case NODE_EQUAL:
	case NODE_UNEQUAL:
	case NODE_LESS:
	case NODE_LESS_EQUAL:
	case NODE_MORE:
	case NODE_MORE_EQUAL:
	case NODE_CONTAINS:
	case NODE_LACKS:
		v = lookup(n->field, user);
		return judge(n, &v);
	}
	return false;
}

bool
query_match(const struct query *q, query_lookup *lookup, void *user)
{
	return match(q, q->root, lookup, user);
}
