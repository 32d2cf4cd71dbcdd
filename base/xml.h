/*
 * xml.h: entities of the characters with a meaning in XML and HTML.
 */
#ifndef TAILOR_BASE_XML_H
#define TAILOR_BASE_XML_H

#include <stddef.h>

/* The entity of c in text and quoted attributes; NULL: c itself. */
static inline const char *
xml_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

#endif
