/*
 * markup_check.c: see markup_check.h.
 */
#include "tests/unit/talechain/markup_check.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH 64
#define NAME 24

struct elements {
	char name[DEPTH][NAME];
	unsigned depth, deepest;
};

size_t
occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

/* The length of a reference at "&", or 0. */
static size_t
reference(const char *at)
{
	static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;",
	    "&#39;", "&#183;", "&#8594;", "&minus;", "&larr;", "&rarr;",
	    "&#x2196;", "&#x2198;"};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(at, known[i], strlen(known[i])) == 0)
			return strlen(known[i]);
	return 0;
}

/* Past the attributes of a tag, to its '>' or "/>"; NULL if one is wrong. */
static const char *
attributes(const char *at)
{
	size_t n;

	for (;;) {
		at += strspn(at, " \n");
		if (*at == '>' || strncmp(at, "/>", 2) == 0)
			return at;
		n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
			       "UVWXYZ0123456789-:");
		if (n == 0)
			return NULL;
		at += n;
		if (*at == '>' || *at == ' ')
			continue; /* an attribute without value */
		if (strncmp(at, "=\"", 2) != 0)
			return NULL;
		for (at += 2; *at != '"'; at++)
			if (*at == '<' || *at == '>' || *at == '\0' ||
			    (*at == '&' && reference(at) == 0))
				return NULL;
		at++;
	}
}

static bool
is_void(const char *name)
{
	return strcmp(name, "meta") == 0 || strcmp(name, "input") == 0;
}

/* Past one tag; NULL if it is wrong. */
static const char *
tag(struct elements *e, const char *at)
{
	bool closing = at[1] == '/';
	char name[NAME];
	size_t n;

	at += 1 + closing;
	n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		       "0123456789");
	if (n == 0 || n >= NAME)
		return NULL;
	memcpy(name, at, n);
	name[n] = '\0';
	at += n;
	if (closing) {
		if (*at != '>' || e->depth == 0 ||
		    strcmp(e->name[--e->depth], name) != 0)
			return NULL;
		return at + 1;
	}
	at = attributes(at);
	if (at == NULL)
		return NULL;
	if (*at == '/')
		return at + 2;
	if (is_void(name))
		return at + 1;
	if (e->depth == DEPTH)
		return NULL;
	memcpy(e->name[e->depth++], name, sizeof(name));
	if (e->depth > e->deepest)
		e->deepest = e->depth;
	if (strcmp(name, "style") == 0)
		return strstr(at, "</style>");
	if (strcmp(name, "script") == 0)
		return strstr(at, "</script>");
	return at + 1;
}

const char *
markup_fault(const char *text, unsigned *depth)
{
	struct elements e = {.depth = 0};
	const char *at = text, *next;

	*depth = 0;
	if (strncmp(at, "<?xml", 5) == 0 || strncmp(at, "<!DOCTYPE", 9) == 0)
		at = strchr(at, '>') + 1;
	while (*at != '\0') {
		if (*at == '<')
			next = tag(&e, at);
		else if (*at == '&')
			next = reference(at) > 0 ? at + reference(at) : NULL;
		else if (*at == '>' ||
			 ((unsigned char)*at < 0x20 && *at != '\n'))
			next = NULL;
		else
			next = at + 1;
		if (next == NULL)
			return at;
		at = next;
	}
	*depth = e.deepest;
	return e.depth == 0 ? NULL : at;
}
