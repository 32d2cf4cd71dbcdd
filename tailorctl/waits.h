/* waits.h: describe what a drain or restart waits for. */
#pragma once

#include <cjson/cJSON.h>

#define WAITS_BYTES 260

/* "3 requests, 1 WebSocket, cut in 48s; oldest 12s: GET /x", without control
 * characters and cut to fit a line; "" if it waits for nothing.
 *   waits  the object of /servers, or NULL
 * As plain_cell() returns it, less than WAITS_BYTES long. */
const char *waits_text(const cJSON *waits);
