/*
 * rule.h: check a rule of hedging.allow.
 *
 * "METHOD /path", the path a pattern (base/path_pattern.h).
 */
#ifndef TAILOR_CONFIG_RULE_H
#define TAILOR_CONFIG_RULE_H

/* The reason why it is not a rule, or NULL; static text. */
const char *rule_judge(const char *rule);

#endif
