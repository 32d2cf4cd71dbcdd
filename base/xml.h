/*
 * xml.h: the characters that end an element or an attribute, as entities.
 */
#ifndef TAILOR_BASE_XML_H
#define TAILOR_BASE_XML_H

#include <stddef.h>

/* What stands for c in XML and HTML text and quoted attributes; NULL: c. */
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
