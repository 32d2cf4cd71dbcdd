/* analyze.h: reads the body of a TaleChain analyze request: untrusted JSON.
 *
 * Pure: bytes in, values out.  Any thread. */
#pragma once

#include "http/http.h"
#include "talechain/tale/tale.h"

#define ANALYZE_BODY_MAX 16384

/* Copy a request's id, terminated.  0, or -EINVAL if s is not a valid id: 1 to
 * 64 visible ASCII characters without quotes, slashes and backslashes. */
int analyze_id(struct slice s, char out[65]);

/* Read {"id":"...","client":{"sched_ns":...,"boot_id":"..."}}.
 *   length   at most ANALYZE_BODY_MAX
 *   boot_id  this machine's, 36 characters, or ""
 *   stamps   receives the client's; INSTANT_NONE if missing or out of range
 * Returns 0, or -EINVAL if there is no id. */
int analyze_parse(const char *text, size_t length, const char *boot_id,
    char id[65], struct tale_client *stamps);
