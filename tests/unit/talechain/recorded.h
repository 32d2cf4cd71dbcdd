/*
 * recorded.h: requests as a real kernel recorded them: the events of their
 * server's threads, of their sockets and of Tailor, ns since their begin.
 */
#pragma once

#include "talechain/render/render.h"

struct recorded_event {
	int64_t ns;
	uint32_t tid, pid;
	int server, cpu; /* -1: none */
	enum talechain_type type;
	uint64_t arg[4];
};

struct recorded {
	const char *name;
	const struct recorded_event *event;
	size_t events;
	uint64_t id, client, server; /* the request; cookies */
	uint32_t pid;
	/* As Tailor's table has them, ns since the begin. */
	int64_t first_byte, received, committed, finished;
	int64_t written, answered, complete;
	enum tale_cause cause;
	const char *sentence;
};

extern const struct recorded recorded[];
extern const size_t recorded_count;
