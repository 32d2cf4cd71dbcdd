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

/* blame_questions.c: show --without or --impact: printed, or written to j if j
 * is not NULL. */
int blame_show_without(
    const struct view *v, const struct blame_route *route, struct json *j);
int blame_show_impact(
    const struct view *v, const struct blame_route *route, struct json *j);
