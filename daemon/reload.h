/* reload.h: changing the configuration of a running tailor.
 *
 * A new configuration is read and judged whole before anything changes; if
 * any of it is wrong, or wants a restart, the one in force stays.  A request
 * keeps the configuration that it began under until it is finished, so there
 * may be several generations for a while.
 *
 * Costs the proxy thread the reading of a file: about a millisecond.  Proxy
 * thread only. */
#pragma once

#include "config/config.h"
#include "proxy/admin/reload_result.h"

/* Where configurations come from: 0 and *out, or -errno with errors. */
struct config_source {
	int (*read)(
	    void *user, struct config **out, struct config_errors *errors);
	void *user; /* borrowed */
};
