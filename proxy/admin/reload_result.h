/* reload_result.h: what the admin socket says of a reload. */
#ifndef TAILOR_PROXY_ADMIN_RELOAD_RESULT_H
#define TAILOR_PROXY_ADMIN_RELOAD_RESULT_H

#define RELOAD_TEXT 4096

struct reload_result {
	unsigned changed;	   /* keys that have a new value */
	unsigned errors;	   /* > 0: nothing was changed */
	char changes[RELOAD_TEXT]; /* their paths, a line each */
	char complaints[RELOAD_TEXT];
};

#endif
