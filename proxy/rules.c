/* rules.c: matching hedging.allow within bounds.  See rules.h. */
#include "proxy/rules.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

#define FLAGS (REG_EXTENDED | REG_NOSUB)

/* Of a rule that config_check has accepted. */
static const char *
expression_of(const char *text)
{
	const char *space = strchr(text, ' ');

	return space == NULL ? "" : space + 1;
}

int
rules_init(struct rules *rules, const struct config *c)
{
	rules->count = 0;
	for (unsigned i = 0; i < c->hedging.allow_rules; i++) {
		struct rule *r = &rules->rule[i];

		r->text = c->hedging.allow[i];
		r->fed = 0;
		if (regcomp(&r->expression, expression_of(r->text), FLAGS)) {
			log_event(LOG_LEVEL_ERROR, "rule_invalid",
			    "rule=\"%s\" advice=\"hedging.allow wants METHOD, "
			    "a space, and an extended regular expression\"",
			    r->text);
			rules_fini(rules);
			return -EINVAL;
		}
		rules->count++;
	}
	return 0;
}

void
rules_fini(struct rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		regfree(&rules->rule[i].expression);
	rules->count = 0;
}

/* Forget the states.  Without memory for that it goes on as it is. */
static void
rule_renew(struct rule *r)
{
	regex_t fresh;

	if (regcomp(&fresh, expression_of(r->text), FLAGS) != 0)
		return;
	regfree(&r->expression);
	r->expression = fresh;
	r->fed = 0;
}

bool
rules_match(struct rules *rules, struct slice method, struct slice target)
{
	char text[RULE_TARGET_MAX + 1];

	if (rules->count == 0 || target.length > RULE_TARGET_MAX)
		return false;
	memcpy(text, target.at, target.length);
	text[target.length] = '\0';
	for (unsigned i = 0; i < rules->count; i++) {
		struct rule *r = &rules->rule[i];
		size_t n = strcspn(r->text, " ");

		if (n != method.length || memcmp(r->text, method.at, n) != 0)
			continue;
		if (r->fed >= RULE_FED_MAX)
			rule_renew(r);
		r->fed += target.length;
		if (regexec(&r->expression, text, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}
