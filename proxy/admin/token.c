#include "proxy/admin/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return why a line is not a valid token, or NULL. */
static const char *
line_judge(struct slice line)
{
	if (line.length == 0)
		return "it is empty";
	if (line.length > TOKEN_MAX)
		return "it is longer than 256 characters";
	if (!slice_all(line, HTTP_CHAR_TARGET))
		return "it is not one line of visible ASCII characters";
	if (line.length < TOKEN_MIN)
		return "it is shorter than 16 characters";
	return NULL;
}

/* Read the first size bytes of a file.  Returns how many there were, or a
 * negative errno. */
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

static int
token_take(const char *path, struct token *out, char why[TOKEN_WHY])
{
	char text[TOKEN_MAX + 2];
	const char *wrong;
	struct slice line = {text, 0};
	ssize_t n;

	n = file_read(path, text, sizeof(text));
	if (n == -EPERM)
		snprintf(why, TOKEN_WHY,
		    "others can read or write it: chmod o= %s", path);
	else if (n < 0)
		snprintf(why, TOKEN_WHY,
		    "%s: the file must be there and readable for tailor's user",
		    strerror((int)-n));
	if (n < 0)
		return (int)n;
	line.length = (size_t)n;
	if (n > 0 && text[n - 1] == '\n')
		line.length--;
	wrong = line_judge(line);
	if (wrong != NULL) {
		snprintf(why, TOKEN_WHY,
		    "%s: make one with openssl rand -hex 32", wrong);
		return -EINVAL;
	}
	memcpy(out->text, text, line.length);
	out->length = line.length;
	return 0;
}

int
token_read(const char *path, struct token *out, char why[TOKEN_WHY])
{
	if (*path == '\0') {
		*out = (struct token){0};
		return 0;
	}
	return token_take(path, out, why);
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
