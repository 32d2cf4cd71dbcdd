/*
 * rule.h: what a rule of hedging.allow may say.
 *
 * "METHOD expression", the expression a POSIX extended one without what takes
 * libc gigabytes to compile (a repeat of a repeat, which POSIX leaves
 * undefined, repeat counts, repeated groups in one another without end) or for
 * ever to match (back references, against a target chosen for it).
 */
#ifndef TAILOR_CONFIG_RULE_H
#define TAILOR_CONFIG_RULE_H

/* Why not, or NULL if it is one; static text.  Compiles it: at most 20 MB and
 * as many milliseconds. */
const char *rule_judge(const char *rule);

#endif
