/*
 * json_valid.h: whether a text is one JSON value (RFC 8259), for the tests
 * of what writes JSON.  Recursive descent, no tree, strict UTF-8 not checked.
 */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char *json_valid_value(const char *p);

static const char *
json_valid_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *
json_valid_string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	while (*p != '"') {
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p++ != '\\')
			continue;
		if (*p == 'u') {
			for (int i = 1; i <= 4; i++)
				if (!isxdigit((unsigned char)p[i]))
					return NULL;
			p += 5;
		} else if (*p != '\0' && strchr("\"\\/bfnrt", *p) != NULL) {
			p++;
		} else {
			return NULL;
		}
	}
	return p + 1;
}

static const char *
json_valid_digits(const char *p)
{
	if (!isdigit((unsigned char)*p))
		return NULL;
	return p + strspn(p, "0123456789");
}

static const char *
json_valid_number(const char *p)
{
	p += *p == '-';
	if (*p == '0')
		p++;
	else
		p = json_valid_digits(p);
	if (p != NULL && *p == '.')
		p = json_valid_digits(p + 1);
	if (p != NULL && (*p == 'e' || *p == 'E')) {
		p++;
		p += *p == '-' || *p == '+';
		p = json_valid_digits(p);
	}
	return p;
}

/* The members of an object or the elements of an array, brackets included. */
static const char *
json_valid_container(const char *p)
{
	bool object = *p == '{';
	char end = object ? '}' : ']';

	p = json_valid_space(p + 1);
	if (*p == end)
		return p + 1;
	for (;;) {
		if (object) {
			p = json_valid_string(json_valid_space(p));
			if (p == NULL)
				return NULL;
			p = json_valid_space(p);
			if (*p++ != ':')
				return NULL;
		}
		p = json_valid_value(p);
		if (p == NULL || *p == end)
			return p == NULL ? NULL : p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

/* A value and the space around it; NULL if there is none. */
static const char *
json_valid_value(const char *p)
{
	static const char *const words[] = {"true", "false", "null"};

	p = json_valid_space(p);
	if (*p == '{' || *p == '[') {
		p = json_valid_container(p);
		return p == NULL ? NULL : json_valid_space(p);
	}
	if (*p == '"') {
		p = json_valid_string(p);
		return p == NULL ? NULL : json_valid_space(p);
	}
	for (unsigned i = 0; i < 3; i++)
		if (strncmp(p, words[i], strlen(words[i])) == 0)
			return json_valid_space(p + strlen(words[i]));
	p = json_valid_number(p);
	return p == NULL ? NULL : json_valid_space(p);
}

static bool
json_valid(const char *text)
{
	const char *end = json_valid_value(text);

	return end != NULL && *end == '\0';
}
