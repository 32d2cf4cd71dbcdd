/*
 * token.c: see token.h.
 */
#include "proxy/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/http_gate.h"

static int
refuse(const char *path, int err, const char *advice)
{
	log_event(LOG_LEVEL_ERROR, "token_not_read",
	    "path=\"%s\" error=\"%s\" advice=\"%s\"", path, strerror(-err),
	    advice);
	return err;
}

/* The first size bytes of a file; how many there are, or a negative errno. */
static ssize_t
file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		n = -errno;
	else if ((st.st_mode & (S_IROTH | S_IWOTH)) != 0)
		n = -EPERM;
	else if ((n = read(fd, text, size)) < 0)
		n = -errno;
	close(fd);
	return n;
}

int
token_read(const char *path, struct token *out)
{
	char text[TOKEN_MAX + 2];
	struct slice line = {text, 0};
	ssize_t n;

	if (*path == '\0') {
		*out = (struct token){0};
		return 0;
	}
	n = file_read(path, text, sizeof(text));
	if (n == -EPERM)
		return refuse(path, -EPERM, "take others' rights: chmod o=");
	if (n < 0)
		return refuse(path, (int)n,
		    "the file must be there and readable for tailor's user");
	line.length = (size_t)n;
	if (n > 0 && text[n - 1] == '\n')
		line.length--;
	if (line.length < TOKEN_MIN || line.length > TOKEN_MAX ||
	    !slice_all(line, HTTP_CHAR_TARGET))
		return refuse(path, -EINVAL,
		    "one line of 16 to 256 visible ASCII characters, as "
		    "openssl rand -hex 32 makes");
	memcpy(out->text, text, line.length);
	out->length = line.length;
	return 0;
}

bool
token_is_in(const struct token *t, const struct http_head *head)
{
	static const char scheme[] = "bearer ";
	const struct http_field *field =
	    http_field_find(head, HTTP_FIELD_AUTHORIZATION);
	unsigned char differ = 0;
	struct slice given;

	if (t->length == 0 || field == NULL ||
	    !slice_begins(field->value, scheme))
		return false;
	given.at = field->value.at + sizeof(scheme) - 1;
	given.length = field->value.length - (sizeof(scheme) - 1);
	if (given.length != t->length)
		return false;
	for (size_t i = 0; i < t->length; i++)
		differ |= (unsigned char)(given.at[i] ^ t->text[i]);
	return differ == 0;
}
