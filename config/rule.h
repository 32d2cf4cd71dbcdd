/* rule.h: what hedging.repeatable, blame.classes, warmup.fields and
 * health_status may hold; private to config/. */
#pragma once

/* The reason why it is not a rule of hedging.repeatable, "METHOD /path" with a
 * path pattern (base/path_pattern.h); NULL if it is.  Static text. */
const char *rule_judge(const char *rule);

/* The reason why it is not a class of blame.classes, "METHOD /path" or "*
 * /path" with a path pattern; NULL if it is.  Static text. */
const char *class_judge(const char *text);

/* The reason why a copy of a request must not carry this field (warmup.fields),
 * or why it is not a field name; NULL if it may.  Static text. */
const char *field_judge(const char *name);

/* The reason why it is not a status of a response or a range of them, "404" or
 * "200-399"; NULL if it is.  Static text. */
const char *status_judge(const char *text);
