/* waits.h: describe what a drain or restart waits for. */
#pragma once

#include <cjson/cJSON.h>

#define WAITS_COLUMNS 64
#define WAITS_BYTES (4 * WAITS_COLUMNS + 4)

/* "3 requests, 1 WebSocket, cut in 48s; oldest 12s: GET /x", without control
 * characters and cut to fit a line; "" if it waits for nothing.
 *   waits  the object of /servers, or NULL
 * Returns out. */
char *waits_text(char out[WAITS_BYTES], const cJSON *waits);
