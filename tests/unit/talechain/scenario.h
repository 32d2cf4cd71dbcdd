/*
 * scenario.h: a tale out of a file, and what is said of it.
 *
 * A scenario is JSON of schema tailor.timeline/1, as `tailorctl why ID --json`
 * prints it, or a part of that.  A tale is made of its request, attempts,
 * client, lanes and events; every other key is what the rendering of the tale
 * must have.  For those that are written by hand:
 *
 *   goal     what it proves; the first line
 *   like     the name of a scenario whose tale this one has, too: its events,
 *            and what this one leaves out of request, client and each attempt
 *   events   what is left out is 0, but for
 *            cpu      of an event of the kernel: 1
 *            server   that of the attempt with the event's pid, or -1
 *            channel  9 of the kernel, else that of the server, plus 1
 *            read     1 us after t
 *   args     name     text, in place of name_begin, name_end or text_0, ...
 *            call     may be "read": the number of this machine, plus 1
 *            whole    1 where wait_ns is given
 *   request  cookie   of the client's socket, where no proxy_receive has it
 */
#pragma once

#include <cjson/cJSON.h>
#include <dirent.h>

#include "talechain/claims/story.h"
#include "tests/unit/talechain/scene.h"

#define SCENARIOS "tests/unit/talechain/scenarios/"

struct scenario {
	cJSON *file; /* owned */
	struct scene scene;
	struct tale_request request;
	struct tale_client client;
	struct tale *tale;   /* owned; NULL before */
	struct story *story; /* owned */
};

/* The names of all, in order: each one's d_name; how many. */
int scenario_list(struct dirent ***file);
void scenario_list_free(struct dirent **file, int n);

/* The file of that name, with all of its tale; free with cJSON_Delete. */
cJSON *scenario_read(const char *name);

/* Read one by its name; in its stream is room for so many more events, which
 * come before its own. */
void scenario_open(struct scenario *s, const char *name, size_t more);
/* The same of JSON, which it then owns. */
void scenario_take(struct scenario *s, cJSON *file, size_t more);
void scenario_close(struct scenario *s);

/* For files that are no scenarios: a file's JSON, which the caller frees, and
 * the request in it; without a stream. */
void scenario_parse(struct scenario *s, const char *path);
/* An event of it. */
struct timeline_slot
scenario_slot(const struct scenario *s, const cJSON *event);

/* Append its events, slice and explain; the story is whole.  Once. */
struct story *scenario_tell(struct scenario *s);

/* Open and tell. */
struct story *scenario_told(struct scenario *s, const char *name);

/* Its rendering; free with cJSON_Delete. */
cJSON *scenario_render(const struct scenario *s);
