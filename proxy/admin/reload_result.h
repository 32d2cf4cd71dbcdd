/* reload_result.h: what the admin socket says of a reload. */
#pragma once

#define RELOAD_TEXT 4096

struct reload_result {
	unsigned changed;	   /* keys that have a new value */
	unsigned errors;	   /* > 0: nothing was changed */
	char changes[RELOAD_TEXT]; /* their paths, a line each */
	char complaints[RELOAD_TEXT];
};
