/*
 * rule.h: what a rule of hedging.allow may say.
 *
 * "METHOD /path", the path a pattern (base/path_pattern.h).
 */
#ifndef TAILOR_CONFIG_RULE_H
#define TAILOR_CONFIG_RULE_H

/* Why not, or NULL if it is one; static text. */
const char *rule_judge(const char *rule);

#endif
