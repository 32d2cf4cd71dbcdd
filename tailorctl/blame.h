/* blame.h: the parts of "tailorctl blame". */
#pragma once

#include "base/json.h"
#include "blame/report/report.h"
#include "tailorctl/options.h"

/* The options of the command, and the view that they select. */
struct view {
	const struct ctl_options *options;
	struct blame_view of;
};

/* Read the accounts of a period that ended until_ns before the latest one.  A
 * running tailor selects them, of a file they are selected here.  0 or a
 * negative errno after a message. */
int blame_period_read(const struct ctl_options *o, struct blame_rows *rows,
    int64_t length_ns, int64_t until_ns);

/* blame_questions.c: show --without or --impact: printed, or written to j if j
 * is not NULL. */
int blame_show_without(
    const struct view *v, const struct blame_route *route, struct json *j);
int blame_show_impact(
    const struct view *v, const struct blame_route *route, struct json *j);
