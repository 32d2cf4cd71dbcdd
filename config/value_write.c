/*
 * value_write.c: write values as JSON; release them; see value.h.
 *
 * Written values read back as the same.
 */
#include "config/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"

static void
write_choice(const struct config_key *key, const void *at, struct json *out)
{
	const struct key_choice *choice = key->choices;
	unsigned value = key->size == sizeof(bool) ? *(const bool *)at
						   : *(const unsigned *)at;

	while (choice->name != NULL && choice->value != value)
		choice++;
	json_string(out, choice->name != NULL ? choice->name : "");
}

static void
write_flags(const struct config_key *key, const void *base, struct json *out)
{
	json_array_begin(out);
	for (const struct key_choice *choice = key->choices;
	     choice->name != NULL; choice++)
		if (*((const bool *)base + choice->value))
			json_string(out, choice->name);
	json_array_end(out);
}

static void
write_quantity(enum quantity q, uint64_t v, struct json *out)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_format(q, v, text);
	if (text[strspn(text, "0123456789")] == '\0')
		json_uint(out, v);
	else
		json_string(out, text);
}

static void
write_poll(const struct config *c, struct json *out)
{
	char duration[QUANTITY_TEXT_MAX], text[QUANTITY_TEXT_MAX + 8];

	switch (c->profiler.poll) {
	case CONFIG_POLL_AUTO:
		json_string(out, "auto");
		return;
	case CONFIG_POLL_SPIN:
		json_string(out, "spin");
		return;
	case CONFIG_POLL_RELAX:
		json_string(out, "relax");
		return;
	case CONFIG_POLL_SLEEP:
		snprintf(text, sizeof(text), "sleep:%s",
		    quantity_format(QUANTITY_DURATION,
			(uint64_t)c->profiler.sleep_ns, duration));
		json_string(out, text);
		return;
	}
}

static void
write_listen(const struct config_address *list, unsigned n, struct json *out)
{
	json_array_begin(out);
	for (unsigned i = 0; i < n; i++)
		json_string(out, list[i].text);
	json_array_end(out);
}

static void
write_networks(const struct config_network *list, unsigned n, struct json *out)
{
	char text[NETWORK_TEXT_MAX];

	json_array_begin(out);
	for (unsigned i = 0; i < n; i++)
		json_string(out, network_format(&list[i], text));
	json_array_end(out);
}

static void
write_texts(char *const *list, unsigned n, struct json *out)
{
	json_array_begin(out);
	for (unsigned i = 0; i < n; i++)
		json_string(out, list[i]);
	json_array_end(out);
}

static void
write_list(
    const struct config_key *key, const void *at, unsigned n, struct json *out)
{
	if (key->type == KEY_LISTEN)
		write_listen(at, n, out);
	else if (key->type == KEY_NETWORKS)
		write_networks(at, n, out);
	else
		write_texts(at, n, out);
}

void
value_write(const struct config_key *key, const void *base, struct json *out)
{
	const void *at = (const char *)base + key->offset;
	const void *count = (const char *)base + key->count_offset;
	const struct config_address *address = at;

	switch (key->type) {
	case KEY_BOOL:
		json_bool(out, *(const bool *)at);
		return;
	case KEY_CHOICE:
		write_choice(key, at, out);
		return;
	case KEY_FLAGS:
		write_flags(key, base, out);
		return;
	case KEY_COUNT:
		json_uint(out, *(const unsigned *)at);
		return;
	case KEY_BYTES:
		write_quantity(QUANTITY_BYTES, *(const uint64_t *)at, out);
		return;
	case KEY_DURATION:
		if (*(const int64_t *)at == CONFIG_DURATION_AUTO) {
			json_string(out, "auto");
			return;
		}
		write_quantity(
		    QUANTITY_DURATION, (uint64_t) * (const int64_t *)at, out);
		return;
	case KEY_RATIO:
		json_double(out, *(const double *)at);
		return;
	case KEY_POLL:
		write_poll(base, out);
		return;
	case KEY_NAME:
	case KEY_NAME_OR_NONE:
	case KEY_TARGET:
	case KEY_PATH:
	case KEY_TEXT:
	case KEY_CPU:
	case KEY_CPUS:
		json_string(out, *(char *const *)at);
		return;
	case KEY_SERVE:
	case KEY_CONNECT:
		json_string(out, address->text != NULL ? address->text : "");
		return;
	case KEY_LISTEN:
	case KEY_NETWORKS:
	case KEY_RULES:
	case KEY_PATTERNS:
	case KEY_FIELDS:
	case KEY_ARGUMENTS:
	case KEY_ENVIRONMENT:
		write_list(key, at, *(const unsigned *)count, out);
		return;
	}
}

void
value_release(const struct config_key *key, void *base)
{
	void *at = value_at(key, base);
	struct config_address *addresses = at;
	char **texts = at;

	switch (key->type) {
	case KEY_BOOL:
	case KEY_CHOICE:
	case KEY_FLAGS:
	case KEY_COUNT:
	case KEY_BYTES:
	case KEY_DURATION:
	case KEY_RATIO:
	case KEY_POLL:
	case KEY_NETWORKS:
		return;
	case KEY_NAME:
	case KEY_NAME_OR_NONE:
	case KEY_TARGET:
	case KEY_PATH:
	case KEY_TEXT:
	case KEY_CPU:
	case KEY_CPUS:
		free(*texts);
		*texts = NULL;
		return;
	case KEY_SERVE:
	case KEY_CONNECT:
		free(addresses->text);
		*addresses = (struct config_address){0};
		return;
	case KEY_LISTEN:
		for (unsigned i = 0; i < *value_count(key, base); i++)
			free(addresses[i].text);
		*value_count(key, base) = 0;
		return;
	case KEY_RULES:
	case KEY_PATTERNS:
	case KEY_FIELDS:
	case KEY_ARGUMENTS:
	case KEY_ENVIRONMENT:
		for (unsigned i = 0; i < *value_count(key, base); i++)
			free(texts[i]);
		*value_count(key, base) = 0;
		return;
	}
}
