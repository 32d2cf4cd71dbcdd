/* value_write.c: write values as JSON, and release them; see value.h.
 *
 * A written value reads back as the same value. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/value.h"

#define AT(type) \
	(*(type const *)(const void *)((const char *)base + key->offset))
#define BESIDE(type) (*(type const *)((const char *)base + key->count_offset))
/* The first element of a list. */
#define LIST(type) ((type const *)((const char *)base + key->offset))

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

void
value_write_bool(
    const struct config_key *key, const void *base, struct json *out)
{
	json_bool(out, AT(bool));
}

void
value_write_choice(
    const struct config_key *key, const void *base, struct json *out)
{
	const struct key_choice *choice = key->choices;
	char duration[QUANTITY_TEXT_MAX], text[PATH_MAX + 32];
	const char *argument = NULL;

	while (choice->name != NULL && choice->value != AT(unsigned))
		choice++;
	if (choice->name != NULL && key_takes_argument(key, choice))
		argument = key->unit == NULL
			       ? BESIDE(char *)
			       : quantity_format(QUANTITY_DURATION,
				     (uint64_t)BESIDE(int64_t), duration);
	if (argument == NULL || *argument == '\0') {
		json_string(out, choice->name != NULL ? choice->name : "");
		return;
	}
	snprintf(text, sizeof(text), "%s:%s", choice->name, argument);
	json_string(out, text);
}

void
value_write_flags(
    const struct config_key *key, const void *base, struct json *out)
{
	json_array_begin(out);
	for (const struct key_choice *choice = key->choices;
	     choice->name != NULL; choice++)
		if (AT(unsigned) & choice->value)
			json_string(out, choice->name);
	json_array_end(out);
}

void
value_write_count(
    const struct config_key *key, const void *base, struct json *out)
{
	json_uint(out, AT(unsigned));
}

void
value_write_bytes(
    const struct config_key *key, const void *base, struct json *out)
{
	write_quantity(QUANTITY_BYTES, AT(uint64_t), out);
}

void
value_write_duration(
    const struct config_key *key, const void *base, struct json *out)
{
	if (key->or_auto && AT(int64_t) == CONFIG_DURATION_AUTO)
		json_string(out, "auto");
	else
		write_quantity(QUANTITY_DURATION, (uint64_t)AT(int64_t), out);
}

void
value_write_delay(
    const struct config_key *key, const void *base, struct json *out)
{
	char text[16];

	if (BESIDE(unsigned) == 0) {
		value_write_duration(key, base, out);
		return;
	}
	snprintf(text, sizeof(text), "p%u", BESIDE(unsigned));
	json_string(out, text);
}

void
value_write_ratio(
    const struct config_key *key, const void *base, struct json *out)
{
	json_double(out, AT(double));
}

void
value_write_text(
    const struct config_key *key, const void *base, struct json *out)
{
	json_string(out, AT(char *));
}

void
value_write_address(
    const struct config_key *key, const void *base, struct json *out)
{
	const char *text = AT(struct config_address).text;

	json_string(out, text != NULL ? text : "");
}

void
value_write_listen(
    const struct config_key *key, const void *base, struct json *out)
{
	const struct config_address *list = LIST(struct config_address);
	char text[160];

	json_array_begin(out);
	for (unsigned i = 0; i < BESIDE(unsigned); i++) {
		snprintf(text, sizeof(text), "%s%s", list[i].text,
		    list[i].proxied ? CONFIG_PROXY_PROTOCOL : "");
		json_string(out, text);
	}
	json_array_end(out);
}

void
value_write_networks(
    const struct config_key *key, const void *base, struct json *out)
{
	char text[NETWORK_TEXT_MAX];

	json_array_begin(out);
	for (unsigned i = 0; i < BESIDE(unsigned); i++)
		json_string(
		    out, network_format(&LIST(struct config_network)[i], text));
	json_array_end(out);
}

void
value_write_texts(
    const struct config_key *key, const void *base, struct json *out)
{
	json_array_begin(out);
	for (unsigned i = 0; i < BESIDE(unsigned); i++)
		json_string(out, LIST(char *)[i]);
	json_array_end(out);
}

/* --- releasing -------------------------------------------------------- */

static void
free_text(char **text)
{
	free(*text);
	*text = NULL;
}

void
value_release_text(const struct config_key *key, void *base)
{
	free_text(value_at(key, base));
}

/* Free a choice's argument if it is a path; a duration is not owned. */
void
value_release_choice(const struct config_key *key, void *base)
{
	if (key->argument != NULL && key->unit == NULL)
		free_text(value_beside(key, base));
}

void
value_release_address(const struct config_key *key, void *base)
{
	struct config_address *address = value_at(key, base);

	free(address->text);
	*address = (struct config_address){0};
}

void
value_release_listen(const struct config_key *key, void *base)
{
	struct config_address *list = value_at(key, base);
	unsigned *n = value_beside(key, base);

	while (*n > 0)
		free(list[--*n].text);
}

void
value_release_texts(const struct config_key *key, void *base)
{
	char **list = value_at(key, base);
	unsigned *n = value_beside(key, base);

	while (*n > 0)
		free(list[--*n]);
}
