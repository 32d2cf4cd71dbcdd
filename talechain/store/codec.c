/* codec.c: after a failure every call does nothing, so callers look once, at
 * the end. */
#include "talechain/store/codec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
put_byte(struct codec *c, uint8_t byte)
{
	size_t room;
	uint8_t *grown;

	if (c->at == c->length) {
		room = c->length < 1024 ? 2048 : 2 * c->length;
		grown = realloc(c->out, room);
		if (grown == NULL) {
			c->err = -ENOMEM;
			return;
		}
		c->out = grown;
		c->length = room;
	}
	c->out[c->at++] = byte;
}

static uint8_t
get_byte(struct codec *c)
{
	if (c->at == c->length) {
		c->err = -EPROTO;
		return 0;
	}
	return c->in[c->at++];
}

void
code_u64(struct codec *c, uint64_t *v)
{
	uint64_t left = *v, value = 0;
	unsigned shift = 0;
	uint8_t byte;

	if (c->packing) {
		for (; left >= 0x80 && c->err == 0; left >>= 7)
			put_byte(c, (uint8_t)(left | 0x80));
		if (c->err == 0)
			put_byte(c, (uint8_t)left);
		return;
	}
	do {
		byte = c->err == 0 ? get_byte(c) : 0;
		if (shift == 63 && byte > 1)
			c->err = -EPROTO;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (c->err == 0 && byte >= 0x80 && shift <= 63);
	if (byte >= 0x80)
		c->err = -EPROTO;
	*v = c->err == 0 ? value : 0;
}

void
code_i64(struct codec *c, int64_t *v)
{
	uint64_t zigzag = ((uint64_t)*v << 1) ^ (uint64_t)(*v >> 63);

	code_u64(c, &zigzag);
	*v = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
}

void
code_int(struct codec *c, int *v, int min, int max)
{
	int64_t wide = *v;

	code_i64(c, &wide);
	if (!c->packing && c->err == 0 && (wide < min || wide > max))
		c->err = -EPROTO;
	*v = c->err == 0 ? (int)wide : min;
}

void
code_unsigned(struct codec *c, unsigned *v, unsigned max)
{
	uint64_t wide = *v;

	code_u64(c, &wide);
	if (!c->packing && c->err == 0 && wide > max)
		c->err = -EPROTO;
	*v = c->err == 0 ? (unsigned)wide : 0;
}

void
code_bool(struct codec *c, bool *v)
{
	unsigned wide = *v;

	code_unsigned(c, &wide, 1);
	*v = wide != 0;
}

void
code_text(struct codec *c, char *text, size_t size)
{
	uint64_t n = c->packing ? strnlen(text, size - 1) : 0;

	code_u64(c, &n);
	if (c->packing) {
		for (uint64_t i = 0; i < n && c->err == 0; i++)
			put_byte(c, (uint8_t)text[i]);
		return;
	}
	text[0] = '\0';
	if (c->err == 0 && (n >= size || n > c->length - c->at))
		c->err = -EPROTO;
	if (c->err < 0)
		return;
	memcpy(text, c->in + c->at, n);
	text[n] = '\0';
	/* A NUL inside would hide the bytes after it. */
	if (strlen(text) != n)
		c->err = -EPROTO;
	c->at += n;
}

void
code_cause(struct codec *c, enum tale_cause *cause)
{
	char code[32] = "";
	int found;

	if (c->packing)
		snprintf(code, sizeof(code), "%s", tale_cause_code(*cause));
	code_text(c, code, sizeof(code));
	found = tale_cause_find(code);
	*cause = found >= 0 ? (enum tale_cause)found : TALE_CAUSE_UNKNOWN;
}
