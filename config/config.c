/* config.c: loading and freeing; see config.h. */
#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/judge.h"
#include "config/keys.h"
#include "config/source.h"
#include "config/value.h"

/* --- life --------------------------------------------------------------- */

/* The number of structs that have a key: the configuration, or each server. */
static unsigned
owners(const struct config_key *key)
{
	return key_of_server(key) ? CONFIG_SERVERS : 1;
}

static int
set_default(struct config *c, const struct config_key *key, unsigned index)
{
	struct config_errors errors = {0};
	char text[KEY_DEFAULT_MAX];
	int err;

	err = judge_text(c, key, index, key_default(key, index, text), &errors);
	assert(err != -EINVAL); /* our own defaults are valid */
	config_errors_fini(&errors);
	return err;
}

int
config_new(struct config **out)
{
	struct config *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	for (unsigned k = 0; k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];

		for (unsigned i = 0; i < owners(key); i++) {
			if (set_default(c, key, i) == 0)
				continue;
			config_free(&c);
			return -ENOMEM;
		}
	}
	*out = c;
	return 0;
}

void
config_free(struct config **cp)
{
	if (*cp == NULL)
		return;
	for (unsigned k = 0; k < config_keys_count; k++)
		for (unsigned i = 0; i < owners(&config_keys[k]); i++)
			value_release(&config_keys[k],
			    value_base(*cp, &config_keys[k], i));
	free(*cp);
	*cp = NULL;
}

/* --- text and files ------------------------------------------------------ */

static void
report_syntax(struct config_errors *errors, const char *name, const char *text,
    size_t length, const struct source_error *error)
{
	struct source_position at =
	    source_position(text, length, error->offset);

	config_errors_add(
	    errors, "%s:%u:%u: %s", name, at.line, at.column, error->what);
}

int
config_parse(struct config **out, const char *text, size_t length,
    const char *name, struct config_errors *errors)
{
	struct source_error error;
	struct source source;
	struct config *c = NULL;
	int err;

	*out = NULL;
	err = source_open(&source, name, text, length, &error);
	if (err != 0) {
		if (err == -EINVAL)
			report_syntax(errors, name, text, length, &error);
		goto fail;
	}
	err = config_new(&c);
	if (err == 0)
		err = judge_source(c, &source, errors);
	source_close(&source);
	if (err != 0)
		goto fail;
	*out = c;
	return 0;

fail:
	config_free(&c);
	if (err == -ENOMEM)
		config_errors_add(errors, "%s: out of memory", name);
	return err;
}

/* Read at most SOURCE_BYTES_MAX + 1 bytes; if there are that many, the file is
 * too large.  The caller frees *text, also after an error. */
static int
read_file(const char *path, bool may_wait, char **text, size_t *length)
{
	struct stat st;
	int fd, err = 0;
	ssize_t n;

	fd = open(path, O_RDONLY | O_CLOEXEC | (may_wait ? 0 : O_NONBLOCK));
	if (fd < 0)
		return -errno;
	if (!may_wait && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		return -ESPIPE;
	}
	*length = 0;
	*text = malloc(SOURCE_BYTES_MAX + 1);
	if (*text == NULL) {
		err = -ENOMEM;
		goto close_file;
	}
	do {
		n = read(fd, *text + *length, SOURCE_BYTES_MAX + 1 - *length);
		if (n > 0)
			*length += (size_t)n;
	} while ((n > 0 && *length <= SOURCE_BYTES_MAX) ||
		 (n < 0 && errno == EINTR));
	if (n < 0)
		err = -errno;

close_file:
	close(fd);
	return err;
}

int
config_load(struct config **out, const char *path, bool may_wait,
    struct config_errors *errors)
{
	size_t length = 0;
	char *text = NULL;
	int err;

	*out = NULL;
	err = read_file(path, may_wait, &text, &length);
	if (err == 0)
		err = config_parse(out, text, length, path, errors);
	else if (err == -ESPIPE)
		config_errors_add(errors,
		    "%s: not a plain file: a running tailor cannot reload it",
		    path);
	else
		config_errors_add(errors,
		    "%s: cannot be read: %s; name another file with -c", path,
		    strerror(-err));
	free(text);
	return err;
}

/* --- single keys --------------------------------------------------------- */

int
config_set(struct config *c, const char *path, const char *text,
    struct config_errors *errors)
{
	char lookup[KEY_PATH_MAX], quoted[QUOTE_MAX];
	const struct config_key *key;
	unsigned index;
	bool given;
	int err;

	given = key_split(path, lookup, &index);
	key = key_find(lookup);
	if (key == NULL || given != key_of_server(key) ||
	    index >= CONFIG_SERVERS) {
		judge_unknown(errors, "", errors_quote(path, quoted));
		return -EINVAL;
	}
	err = judge_text(c, key, index, text, errors);
	if (err == -ENOMEM)
		config_errors_add(errors, "%s: out of memory", key->path);
	if (err == 0 && key_of_server(key) && c->servers <= index)
		c->servers = index + 1;
	return err;
}

/* --- the list of errors ------------------------------------------------ */

bool
errors_full(const struct config_errors *errors)
{
	return errors->count > ERRORS_MAX;
}

void
config_errors_add(struct config_errors *errors, const char *format, ...)
{
	va_list arguments;
	char **text, *line;
	int n;

	if (errors_full(errors))
		return;
	text = realloc(errors->text, (errors->count + 1) * sizeof(*text));
	if (text == NULL)
		return;
	errors->text = text;
	if (errors->count == ERRORS_MAX) {
		line = strdup("more errors follow; these are the first 100");
		n = 0;
	} else {
		va_start(arguments, format);
		n = vasprintf(&line, format, arguments);
		va_end(arguments);
	}
	if (n >= 0 && line != NULL)
		errors->text[errors->count++] = line;
}

void
config_errors_fini(struct config_errors *errors)
{
	for (unsigned i = 0; i < errors->count; i++)
		free(errors->text[i]);
	free(errors->text);
	*errors = (struct config_errors){0};
}

char *
errors_quote(const char *text, char out[QUOTE_MAX])
{
	size_t n = 0;

	for (; n < 60 && text[n] != '\0'; n++) {
		unsigned char c = (unsigned char)text[n];

		out[n] = c < ' ' || c == 0x7f ? '?' : text[n];
	}
	/* Do not cut a UTF-8 sequence in two. */
	if (text[n] != '\0') {
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
		memcpy(out + n, "...", 3);
		n += 3;
	}
	out[n] = '\0';
	return out;
}
