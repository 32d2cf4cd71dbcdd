/*
 * scene.h: a stream with a known story in it, for tests of tales.
 *
 * Times are nanoseconds after SCENE_T0; events are appended as if the
 * observer had read them a microsecond after they happened.
 */
#pragma once

#include "talechain/events/hazard.h"
#include "talechain/tale/tale.h"
#include "talechain/timeline/timeline.h"

#define SCENE_T0 UINT64_C(5000000000000)
#define SCENE_ID UINT64_C(0x2a)
#define US INT64_C(1000)

struct scene {
	struct timeline *timeline;
	struct timeline_reader *reader;
	uint64_t written; /* events so far, over all channels */
	uint32_t cpu;	  /* of the kernel's events; 1 at first */
};

void scene_open(struct scene *s, unsigned slot_log2);
void scene_close(struct scene *s);

/* SCENE_T0 + ns as an instant. */
struct instant scene_at(int64_t ns);

/* Append an event of a server (-1: none). */
void scene_event(struct scene *s, int64_t ns, int server,
    enum talechain_type type, const uint64_t arg[4]);
#define SCENE(s, ns, server, type, ...) \
	scene_event(s, ns, server, type, (const uint64_t[4]){__VA_ARGS__})

/* Append an event of the kernel, of A's (0) if pid is A_PID. */
void scene_kernel(struct scene *s, int64_t ns, uint32_t tid, uint32_t pid,
    enum talechain_type type, const uint64_t arg[4]);
#define KERNEL(s, ns, tid, pid, type, ...) \
	scene_kernel(s, ns, tid, pid, type, (const uint64_t[4]){__VA_ARGS__})

#define PROXY_TID 100 /* Tailor's thread */
#define A_PID 500
#define A_TID 501 /* threads of A's */
#define B_TID 502

#define PACK(high, low) ((uint64_t)(high) << 32 | (uint32_t)(low))
#define PORTS(local, remote) \
	((uint64_t)(local) << 48 | (uint64_t)(remote) << 32)

/* A GET of /search?q=tail with id 0x2a; no attempts, no stream positions. */
void scene_request(struct tale_request *r);
