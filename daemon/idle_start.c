/* idle_start.c: a server that starts while the other one serves takes only the
 * CPU time that is left over.
 *
 * A JVM that starts loads classes and compiles on all CPUs that it may use,
 * those of Tailor's threads and of clients on this machine included.  Under
 * SCHED_IDLE it yields to them.  That counts among the threads of one group,
 * and Tailor and what it launches are in one.  It ends as soon as the server is
 * ready or needed, and after IDLE_START_MAX_NS: it is never starved for longer.
 */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/background.h"
#include "base/log.h"
#include "base/permission.h"
#include "daemon/daemon.h"
#include "proxy/request/proxy.h"

#define IDLE_START_MAX_NS (30 * NS_PER_S)
#define DEEP 8	 /* generations of processes that are followed */
#define PASSES 8 /* threads may start others meanwhile */

/* True if we may end it again, which takes CAP_SYS_NICE, and the policy that it
 * ends with is the one that the server would have had. */
static bool
may_end(void)
{
	struct scheduling own;
	struct permission p;

	permission_read(&p);
	return (p.effective & PERMISSION_SYS_NICE) != 0 &&
	       scheduling_read(0, &own) == 0 && own.policy == SCHED_OTHER;
}

bool
idle_start_may_begin(const struct server *s)
{
	const struct hedging *h = s->upstream->hedging;

	return s->upstream->config->servers == 2 &&
	       h->server[1 - s->index].state == SERVER_READY && may_end();
}

/* Give the threads of a process and of its children the usual policy.  Returns
 * how many had not. */
static unsigned
hurry(pid_t pid, unsigned depth)
{
	struct scheduling how;
	char path[64], text[512], *at, *end;
	struct dirent *e;
	unsigned n = 0;
	size_t length;
	pid_t tid;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL) {
		tid = (pid_t)strtol(e->d_name, NULL, 10);
		if (tid <= 0)
			continue;
		if (scheduling_read(tid, &how) == 0 &&
		    how.policy == SCHED_IDLE) {
			how.policy = SCHED_OTHER;
			n += scheduling_set(tid, how) == 0;
		}
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		    (int)pid, (int)tid);
		f = depth < DEEP ? fopen(path, "re") : NULL;
		if (f == NULL)
			continue;
		length = fread(text, 1, sizeof(text) - 1, f);
		text[length] = '\0';
		fclose(f);
		for (at = text; (tid = (pid_t)strtol(at, &end, 10)) > 0;
		     at = end)
			n += hurry(tid, depth + 1);
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static void
idle_start_end(struct server *s)
{
	unsigned all = 0, n = 1;

	s->program.idle = false;
	for (unsigned i = 0; i < PASSES && n > 0; i++) {
		/* Orphans of the program are our children. */
		n = hurry(getpid(), 0);
		all += n;
	}
	log_event(LOG_LEVEL_INFO, "idle_start_over",
	    "server=%s threads=%u after_ms=%lld", s->config->name, all,
	    (long long)(instant_since(instant_now(), s->program.launched) /
			NS_PER_MS));
}

void
idle_start_tick(struct proxy *p, struct instant now)
{
	UPSTREAM_EACH(&p->upstream, i)
	{
		struct server *s = &p->upstream.server[i];

		if (s->program.idle &&
		    (p->hedging.server[i].state == SERVER_READY ||
			p->hedging.server[1 - i].state != SERVER_READY ||
			p->hedging.server[1 - i].hazards != 0 ||
			instant_since(now, s->program.launched) >
			    IDLE_START_MAX_NS))
			idle_start_end(s);
	}
}
