/* write.c: the effective configuration and the manual page; see config.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "config/config.h"
#include "config/keys.h"
#include "config/value.h"

/* --- JSON --------------------------------------------------------------- */

/* Write the members of the section from key number k on; returns the number of
 * the first key after it.  base: the struct that has its keys as members. */
static unsigned
write_members(unsigned k, const char *section, const struct config *c,
    const void *base, struct json *out)
{
	char name[KEY_PATH_MAX], inner[KEY_PATH_MAX];

	while (key_member(k, section, name, inner)) {
		json_key(out, name);
		if (*inner == '\0') {
			value_write(&config_keys[k++], base, out);
		} else if (strcmp(inner, KEY_SERVERS) != 0) {
			json_object_begin(out);
			k = write_members(k, inner, c, base, out);
			json_object_end(out);
		} else {
			json_array_begin(out);
			for (unsigned i = 0; i < c->servers; i++) {
				json_object_begin(out);
				write_members(k, inner, c, &c->server[i], out);
				json_object_end(out);
			}
			json_array_end(out);
			while (k < config_keys_count &&
			       key_of_server(&config_keys[k]))
				k++;
		}
	}
	return k;
}

void
config_write(const struct config *c, struct json *out)
{
	json_object_begin(out);
	write_members(0, "", c, c, out);
	json_object_end(out);
}

/* --- the manual page ------------------------------------------------------ */

/* tailor.conf(5), with "@KEYS@" where the text of the table of keys goes. */
EMBED(manual_text, "config/manual.txt");

#define KEYS_MARK "@KEYS@\n"

/* Text with scdoc's markup escaped. */
static void
print_escaped(FILE *f, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("_*\\~[]", *text) != NULL)
			fputc('\\', f);
		fputc(*text, f);
	}
}

/* Print text as print_escaped does, in lines of at most 76 bytes, each after a
 * tab. */
static void
print_filled(FILE *f, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");
		char word[128];

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (column > 0 && column + 1 + n > 68) {
			fputc('\n', f);
			column = 0;
		}
		fputc(column == 0 ? '\t' : ' ', f);
		print_escaped(f, word);
		column += n + 1;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

static void
print_key(FILE *f, const struct config_key *key)
{
	char expected[300], line[400], text[KEY_TEXT_MAX];

	fputc('*', f);
	print_escaped(f, key->path);
	fputs("*\n", f);
	key_describe(key, false, expected, sizeof(expected));
	snprintf(line, sizeof(line), "%c%s.",
	    *expected >= 'a' && *expected <= 'z' ? *expected - 'a' + 'A'
						 : *expected,
	    expected + 1);
	print_filled(f, line);
	snprintf(line, sizeof(line), "Default: %s.",
	    *key->fallback != '\0' ? key->fallback : "empty");
	fputc('\n', f);
	print_filled(f, line);
	fputc('\n', f);
	print_filled(f, key_text(key->path, text));
	fputc('\n', f);
	if (key->restart && !key_of_server(key)) {
		print_filled(f, "A reload cannot change it.");
		fputc('\n', f);
	}
}

/* True if key is a member of the section, and of none inside it. */
static bool
is_member(const struct config_key *key, const char *section)
{
	const char *dot = strrchr(key->path, '.');
	size_t n = dot != NULL ? (size_t)(dot - key->path) : 0;

	return strlen(section) == n && strncmp(key->path, section, n) == 0;
}

static void
print_manual(FILE *f)
{
	const char *mark = strstr(manual_text, KEYS_MARK);
	char text[KEY_TEXT_MAX];

	fwrite(manual_text, 1, (size_t)(mark - manual_text), f);
	for (unsigned s = 0; s < key_sections_count; s++) {
		const char *section = key_sections[s];

		/* Headings have no markup. */
		fprintf(
		    f, "# %s\n\n", *section != '\0' ? section : "ADDRESSES");
		print_escaped(f, key_text(section, text));
		fputs("\n\n", f);
		for (unsigned k = 0; k < config_keys_count; k++)
			if (is_member(&config_keys[k], section))
				print_key(f, &config_keys[k]);
	}
	fputs(mark + strlen(KEYS_MARK), f);
}

int
config_write_manual(char **text, size_t *length)
{
	FILE *f = open_memstream(text, length);
	bool failed;

	if (f == NULL)
		return -ENOMEM;
	print_manual(f);
	failed = ferror(f) != 0;
	if (fclose(f) == 0 && !failed)
		return 0;
	free(*text);
	*text = NULL;
	return -ENOMEM;
}

char *
config_list_keys(void)
{
	char path[KEY_PATH_MAX], *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (unsigned i = 0; out != NULL && i < config_keys_count; i++)
		for (unsigned n = 0; n < CONFIG_SERVERS; n++)
			if (n == 0 || strstr(config_keys[i].path, "[]") != NULL)
				fprintf(out, "%s= ",
				    key_path(config_keys[i].path, n, path));
	if (out != NULL)
		fclose(out);
	return text;
}
