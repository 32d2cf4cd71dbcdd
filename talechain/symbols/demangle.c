/* demangle.c: names of C++ and Rust functions, as people write them.
 *
 * The C++ runtime's library demangles; parameters and template arguments are
 * then left out, because a name has little room.  A name may contain each part
 * twice that it has before, so that the result doubles with each 8 bytes of a
 * hostile one: those of over MANGLED_MOST bytes stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/symbols/sources.h"

#define MANGLED_MOST 128
#define RUST_HASH 19 /* "::h" and 16 digits, at the end of a name in Rust */

/* Of the C++ ABI; <cxxabi.h> comes with a C++ compiler only.  The result is the
 * caller's to free. */
char *__cxa_demangle(const char *name, char *out, size_t *size, int *status);

/* The length of "operator<<" and the like at the begin of a text, or 0: their
 * brackets are no arguments. */
static size_t
operator_length(const char *s)
{
	if (strncmp(s, "operator", 8) != 0)
		return 0;
	return 8 + (strncmp(s + 8, "()", 2) == 0 ? 2 : strspn(s + 8, "<=>-"));
}

/* Remove what is in brackets: arguments and parameters. */
static void
arguments_drop(char *s)
{
	unsigned angles = 0, rounds = 0; /* that are open */
	char *to = s;
	size_t n;

	for (; *s != '\0'; s++) {
		n = angles + rounds == 0 ? operator_length(s) : 0;
		if (n > 0) {
			memmove(to, s, n);
			to += n;
			s += n - 1;
			continue;
		}
		/* Within round ones, "<" compares. */
		rounds += *s == '(';
		angles += *s == '<' && rounds == 0;
		if (angles + rounds == 0)
			*to++ = *s;
		angles -= *s == '>' && rounds == 0 && angles > 0;
		rounds -= *s == ')' && rounds > 0;
	}
	*to = '\0';
}

static void
end_drop(char *s)
{
	static const char *const ends[] = {" const", " volatile", " [clone"};
	size_t n;
	char *at;

	for (unsigned i = 0; i < 3; i++)
		if ((at = strstr(s, ends[i])) != NULL)
			*at = '\0';
	n = strlen(s);
	while (n > 0 && s[n - 1] == ' ')
		s[--n] = '\0';
	if (n > RUST_HASH && strncmp(s + n - RUST_HASH, "::h", 3) == 0 &&
	    strspn(s + n - 16, "0123456789abcdef") == 16)
		s[n - RUST_HASH] = '\0';
}

void
symbol_demangle(char out[SYMBOL_NAME], const char *name)
{
	char *whole = NULL;
	int status;

	if (strncmp(name, "_Z", 2) == 0 &&
	    strnlen(name, MANGLED_MOST + 1) <= MANGLED_MOST)
		whole = __cxa_demangle(name, NULL, NULL, &status);
	if (whole != NULL) {
		arguments_drop(whole);
		end_drop(whole);
	}
	snprintf(out, SYMBOL_NAME, "%s",
	    whole != NULL && whole[0] != '\0' ? whole : name);
	free(whole);
}
