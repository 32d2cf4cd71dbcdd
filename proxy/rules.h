/*
 * rules.h: the rules of hedging.allow: a method, and an expression that the
 * target matches.
 *
 * libc's matcher remembers every state that it has been in, up to 4 KB for
 * each byte it is fed, until the expression is freed; and a client can choose
 * targets that always lead to new ones.  So an expression is compiled anew
 * after RULE_FED_MAX bytes, which bounds what strangers can make it remember.
 *
 * Cost: a match of a usual expression takes less than a microsecond, of a
 * strange one up to 20 for each byte of the target; compiling takes 4 to 20.
 * Proxy thread only.
 */
#ifndef TAILOR_PROXY_RULES_H
#define TAILOR_PROXY_RULES_H

#include <regex.h>
#include <stdbool.h>

#include "config/config.h"
#include "proxy/http.h"

#define RULE_FED_MAX 4096    /* bytes of targets */
#define RULE_TARGET_MAX 2047 /* longer targets match no rule */

struct rule {
	const char *text; /* borrowed: "METHOD expression" */
	regex_t expression;
	size_t fed; /* bytes, since it was compiled */
};

struct rules {
	struct rule rule[CONFIG_RULES];
	unsigned count;
};

/*
 * Compile hedging.allow; the configuration must outlive the rules.
 * Returns 0, or -EINVAL (logged) with nothing to release.
 */
int rules_init(struct rules *rules, const struct config *c);
void rules_fini(struct rules *rules);

/* Whether some rule has this method and an expression that matches. */
bool rules_match(struct rules *rules, struct slice method, struct slice target);

#endif
