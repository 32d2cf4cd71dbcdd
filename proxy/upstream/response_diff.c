/* response_diff.c: compares status, length and a hash of two responses.
 *
 * The hash is over words of eight bytes, so it does not depend on how the
 * payload is cut into pieces.  It has no key: servers do not try to deceive. */
#include "proxy/upstream/response_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Status, length and hash of the bytes read of one response. */
struct print {
	unsigned status;
	bool whole;
	uint64_t bytes, hash;
	uint64_t rest; /* bytes after the last whole word */
};

struct response_diff {
	struct metrics *metrics; /* borrowed */
	uint64_t request, limit_bytes;
	unsigned parties;
	bool won;
	struct print print[RACE_ATTEMPTS];
};

_Static_assert(sizeof(struct response_diff) <= COMPARISON_BYTES, "as promised");

struct response_diff *
compare_new(struct metrics *m, uint64_t request, uint64_t limit_bytes)
{
	struct response_diff *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->metrics = m;
	c->request = request;
	c->limit_bytes = limit_bytes;
	c->parties = 1;
	return c;
}

struct response_diff *
compare_join(struct response_diff *c, unsigned side)
{
	c->print[side] = (struct print){0};
	c->parties++;
	return c;
}

static const char *
difference(struct response_diff *c)
{
	const struct print *a = &c->print[0], *b = &c->print[1];
	struct metrics *m = c->metrics;

	m->hedges_compared++;
	if (a->status != b->status) {
		m->differ_status++;
		return "status";
	}
	if (a->bytes != b->bytes) {
		m->differ_length++;
		return "length";
	}
	if (a->hash != b->hash || a->rest != b->rest) {
		m->differ_body++;
		return "body";
	}
	return NULL;
}

void
compare_leave(struct response_diff **cp)
{
	struct response_diff *c = *cp;
	const char *part;

	*cp = NULL;
	if (c == NULL || --c->parties > 0)
		return;
	if (c->won && c->print[0].whole && c->print[1].whole) {
		part = difference(c);
		if (part != NULL)
			log_event(LOG_LEVEL_DEBUG, "responses_differ",
			    "request=%016llx part=%s status=%u,%u bytes=%llu,"
			    "%llu",
			    (unsigned long long)c->request, part,
			    c->print[0].status, c->print[1].status,
			    (unsigned long long)c->print[0].bytes,
			    (unsigned long long)c->print[1].bytes);
	}
	free(c);
}

void
compare_status(struct response_diff *c, unsigned side, unsigned status)
{
	c->print[side].status = status;
}

static void
hash_word(struct print *p, uint64_t word)
{
	p->hash = (p->hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	p->hash ^= p->hash >> 32;
}

static void
print_add(struct print *p, const char *at, size_t n)
{
	unsigned have = p->bytes % 8;
	uint64_t word;

	p->bytes += n;
	for (; n > 0 && have > 0; at++, n--) {
		p->rest |= (uint64_t)(uint8_t)*at << 8 * have;
		have = (have + 1) % 8;
		if (have == 0) {
			hash_word(p, p->rest);
			p->rest = 0;
		}
	}
	for (; n >= 8; at += 8, n -= 8) {
		memcpy(&word, at, 8);
		hash_word(p, word);
	}
	for (unsigned i = 0; i < n; i++)
		p->rest |= (uint64_t)(uint8_t)at[i] << 8 * (have + i);
}

void
compare_data(struct response_diff *c, unsigned side, const struct chain *data)
{
	struct print *p = &c->print[side];

	if (p->bytes > c->limit_bytes)
		return;
	for (const struct block *b = data->head; b != NULL; b = b->next)
		print_add(p, b->data + b->begin, block_bytes(b));
}

void
compare_whole(struct response_diff *c, unsigned side)
{
	c->print[side].whole = c->print[side].bytes <= c->limit_bytes;
}

void
compare_won(struct response_diff *c)
{
	c->won = true;
}
