/* blame.h: the parts of "tailorctl blame". */
#pragma once

#include "base/json.h"
#include "blame/report/report.h"
#include "tailorctl/commands.h"

/* What is asked, and the tables that it is asked of. */
struct view {
	const struct ctl_options *options;
	struct blame_view of;
};

/* blame_tables.c: read the accounts that are asked for, and how long all
 * requests took, from the running tailor or a file.  0, or a negative errno
 * after a message. */
int blame_tables_read(struct view *v);
/* --accounts: print them as they are.  Returns the exit status. */
int blame_tables_print(const struct ctl_options *options);

/* blame_questions.c: --without and --impact, printed or into j. */
int blame_show_without(
    const struct view *v, const struct blame_route *route, struct json *j);
int blame_show_impact(
    const struct view *v, const struct blame_route *route, struct json *j);
