#include "profiler/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/permission.h"
#include "profiler/attach.h"
#include "profiler/proc.h"

#define FIND_PERIOD_NS (200 * NS_PER_MS)
#define FIND_STEP_NS (1 * NS_PER_MS)
/* A JVM creates its page in its first tenths of a second. */
#define PAGE_SOON_NS (100 * NS_PER_MS)
#define PAGE_SOON_TRIES 100
#define PAGE_LATER_NS (5 * NS_PER_S)
#define PAGE_CHECK_NS (1 * NS_PER_S)
/* Retry period while there are no threads to watch. */
#define THREAD_PERIOD_NS (100 * NS_PER_MS)
#define THREAD_TRIES 100
#define THREAD_LATER_NS (5 * NS_PER_S)
/* The first thread of a killed process may end well before the last. */
#define DOUBT_PERIOD_NS (500 * NS_PER_US)
#define DOUBT_NS (50 * NS_PER_MS)

void
process_init(struct process *p, struct attach *a, unsigned index,
    const struct profiler_server *server)
{
	memset(p, 0, sizeof(*p));
	p->attach = a;
	p->index = index;
	p->server = server;
	p->pidfd = -1;
	for (unsigned i = 0; i < PROC_THREADS; i++)
		p->thread[i] = -1;
	finder_init(&p->finder);
	snprintf(p->where, sizeof(p->where), "its process is not known yet");
}

static void
process_unwatch_threads(struct process *p)
{
	for (unsigned i = 0; i < PROC_THREADS; i++) {
		if (p->thread[i] >= 0)
			close(p->thread[i]);
		p->thread[i] = -1;
	}
	p->threads = 0;
}

static void
process_unwatch(struct process *p)
{
	process_unwatch_threads(p);
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
}

void
process_fini(struct process *p)
{
	finder_fini(&p->finder);
	process_unwatch(p);
}

void
process_assign(struct process *p, pid_t pid)
{
	uint64_t old = __atomic_load_n(&p->assigned, __ATOMIC_RELAXED), new;

	do
		new = ((old >> 32) + 1) << 32 | (uint32_t)pid;
	while (!__atomic_compare_exchange_n(&p->assigned, &old, new, false,
	    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void
process_command(struct process *p, enum command_kind kind, void *source)
{
	struct observer_command o = {.kind = kind,
	    .server = p->index,
	    .pid = p->pid,
	    .at = instant_now(),
	    .source = source};

	/* A page is released when it ends and when another replaces it. */
	o.releases = p->page != NULL &&
		     (kind == COMMAND_PAGE || kind == COMMAND_PAGE_END);
	attach_command(p->attach, &o);
}

static void
process_drop_page(struct process *p)
{
	if (p->page != NULL)
		process_command(p, COMMAND_PAGE_END, NULL);
	p->page = NULL;
	p->why[0] = '\0';
	p->page_tries = 0;
}

/* Our child's wait status, without reaping it; 0 for other processes. */
static int
process_status(const struct process *p)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	if (p->pidfd < 0 ||
	    waitid(P_PIDFD, (id_t)p->pidfd, &info,
		WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid == 0)
		return 0;
	return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8
					  : info.si_status & 0x7f;
}

static void
process_gone(struct process *p, struct instant now)
{
	struct observer_command o = {.kind = COMMAND_SERVER_EXIT,
	    .server = p->index,
	    .pid = p->pid,
	    .at = now};

	o.status = process_status(p);
	/* Post the hazard first: the rest can wait. */
	attach_command(p->attach, &o);
	process_drop_page(p);
	/* The supervisor logs the end of a process that it launched. */
	if (p->server->address.ss_family != AF_UNSPEC)
		log_event(LOG_LEVEL_NOTICE, "server_exited", "server=%s pid=%d",
		    p->server->name, (int)p->pid);
	process_unwatch(p);
	p->ended = p->pid;
	p->pid = p->jvm = 0;
	p->listener_known = false;
	p->find_at = now;
	finder_fini(&p->finder);
	snprintf(p->where, sizeof(p->where), "its process is gone");
}

/* Take this process as the server. */
static void
process_found(struct process *p, pid_t pid, const char *how, struct instant now)
{
	int pidfd = proc_pidfd(pid);

	process_drop_page(p);
	process_unwatch(p);
	p->pidfd = pidfd < 0 ? -1 : pidfd;
	p->pid = p->jvm = pid;
	p->page_at = p->thread_at = now;
	p->threads_seen = 0;
	p->doubt_end = now;
	p->listener_known = false;
	if (pidfd == -ESRCH) {
		process_gone(p, now);
		return;
	}
	process_command(p, COMMAND_SERVER_START, NULL);
	log_event(LOG_LEVEL_NOTICE, "server_found", "server=%s pid=%d how=%s",
	    p->server->name, (int)pid, how);
	if (pidfd < 0)
		log_event(LOG_LEVEL_WARNING, "server_exit_unwatched",
		    "server=%s error=\"%s\" costs=\"its end is not noticed "
		    "at once\"",
		    p->server->name, strerror(-pidfd));
	attach_assign(p->attach);
}

static void
process_check_assigned(struct process *p, struct instant now)
{
	uint64_t assigned = __atomic_load_n(&p->assigned, __ATOMIC_ACQUIRE);
	pid_t pid = (pid_t)(uint32_t)assigned;

	if (assigned == p->assigned_seen)
		return;
	p->assigned_seen = assigned;
	if (pid == p->pid)
		return;
	if (pid == 0)
		process_gone(p, now);
	else
		process_found(p, pid, "assigned", now);
}

/* Log why its process cannot be found, once per reason. */
static void
process_lost(struct process *p, enum finder_result why)
{
	char user[PROC_USER_BYTES] = "another user", text[PAGE_TEXT];
	char remedy[PAGE_TEXT];
	struct permission permission;

	if (p->finder.uid != (uid_t)-1)
		proc_user_name(p->finder.uid, user);
	if (why == FINDER_NONE) {
		snprintf(
		    text, sizeof(text), "nothing listens on its address here");
	} else {
		permission_read(&permission);
		snprintf(text, sizeof(text),
		    "its process belongs to user %s: %s", user,
		    permission_remedy_user(&permission, user,
			PERMISSION_SYS_PTRACE, remedy, sizeof(remedy)));
	}
	if (strcmp(text, p->where) == 0 || p->pid != 0)
		return;
	memcpy(p->where, text, sizeof(text));
	log_event(why == FINDER_NONE ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
	    "server_not_found", "server=%s why=\"%s\"", p->server->name, text);
}

/* Whether the previous process is still ending. */
static bool
process_lingers(const struct process *p)
{
	return p->ended != 0 && (kill(p->ended, 0) == 0 || errno == EPERM) &&
	       proc_is_ending(p->ended);
}

/* A socket listens and no visible process holds it.  While a process ends its
 * descriptors are gone before its sockets, so this is believed only when the
 * next search finds the same socket. */
static void
process_hidden(struct process *p)
{
	bool again = p->hidden == p->finder.inode;

	p->hidden = p->finder.inode;
	if (again && !process_lingers(p))
		process_lost(p, FINDER_FOREIGN);
}

static int64_t
process_find(struct process *p, struct instant now)
{
	enum finder_result r;
	pid_t pid;

	if (instant_before(now, p->find_at))
		return instant_since(p->find_at, now);
	p->find_at = instant_plus(now, FIND_PERIOD_NS);
	r = finder_step(&p->finder, &p->server->address, &pid);
	switch (r) {
	case FINDER_MORE:
		p->find_at = instant_plus(now, FIND_STEP_NS);
		return FIND_STEP_NS;
	case FINDER_NONE:
		process_lost(p, r);
		return FIND_PERIOD_NS;
	case FINDER_FOREIGN:
		process_hidden(p);
		return FIND_PERIOD_NS;
	case FINDER_FOUND:
		break;
	}
	if (p->pid == 0 && pid == p->ended && proc_is_ending(pid))
		return FIND_PERIOD_NS;
	p->listener_known = true;
	if (p->pid == 0) {
		process_found(p, pid, "listens", now);
		p->listener_known = p->pid != 0;
	} else if (pid != p->jvm && proc_descends(pid, p->pid)) {
		process_drop_page(p);
		p->jvm = pid;
		p->page_at = p->thread_at = now;
		process_unwatch_threads(p);
	} else if (pid != p->jvm) {
		/* The old process may still hold the port for a moment. */
		p->listener_known = false;
	}
	return 0;
}

/* Find the page, or check that the present one is still valid. */
static int64_t
process_turn_page(struct process *p, struct instant now)
{
	struct hsperf_page *page;
	int64_t next_ns = PAGE_CHECK_NS;
	int err;

	if (instant_before(now, p->page_at))
		return instant_since(p->page_at, now);
	if (p->page != NULL && hsperf_page_is_dead(p->page)) {
		process_drop_page(p);
		log_event(LOG_LEVEL_WARNING, "hsperfdata_cut_short",
		    "server=%s pid=%d", p->server->name, (int)p->jvm);
	} else if (p->page == NULL || hsperf_page_is_stale(p->page)) {
		err = hsperf_page_open(&page, p->jvm, p->why);
		if (err == 0) {
			if (p->page == NULL)
				log_event(LOG_LEVEL_NOTICE, "server_signals",
				    "server=%s source=\"%s\"", p->server->name,
				    page->text);
			process_command(p, COMMAND_PAGE, page);
			p->page = page;
		} else if (++p->page_tries < PAGE_SOON_TRIES) {
			next_ns = PAGE_SOON_NS;
		} else {
			next_ns = PAGE_LATER_NS;
		}
		if (err < 0 && p->page_tries == PAGE_SOON_TRIES && !p->probed)
			log_event(LOG_LEVEL_WARNING, "server_signals_missing",
			    "server=%s pid=%d why=\"%s\"", p->server->name,
			    (int)p->jvm, p->why);
	}
	p->page_at = instant_plus(now, next_ns);
	return next_ns;
}

/* Whether the process has ended, by its handle or, sooner, by its threads. */
static bool
process_is_over(
    struct process *p, bool readable, bool thread, struct instant now)
{
	if (thread) {
		process_unwatch_threads(p);
		p->thread_at = instant_plus(now, THREAD_PERIOD_NS);
		p->doubt_end = instant_plus(now, DOUBT_NS);
	}
	return readable ||
	       (instant_before(now, p->doubt_end) && proc_is_ending(p->jvm));
}

/* Watch threads as soon as there are some.  Without kernel support for that,
 * the process's own handle must do. */
static int64_t
process_turn_threads(struct process *p, struct instant now)
{
	if (p->threads == PROC_THREADS || p->threads_unknown)
		return -1;
	if (instant_before(now, p->thread_at))
		return instant_since(p->thread_at, now);
	process_unwatch_threads(p);
	p->thread_at = instant_plus(now, p->threads_seen > THREAD_TRIES
					     ? THREAD_LATER_NS
					     : THREAD_PERIOD_NS);
	p->threads_seen++;
	p->threads = proc_thread_pidfds(p->jvm, p->thread);
	p->threads_unknown = p->threads == -EINVAL || p->threads == -ENOSYS;
	if (p->threads < 0)
		p->threads = 0;
	return instant_since(p->thread_at, now);
}

int64_t
process_turn(struct process *p, bool readable, bool thread, struct instant now)
{
	int64_t due_ns = -1;

	if (p->pid != 0 && process_is_over(p, readable, thread, now))
		process_gone(p, now);
	process_check_assigned(p, now);
	if (p->server->address.ss_family != AF_UNSPEC && !p->listener_known)
		due_ns = sooner_ns(due_ns, process_find(p, now));
	if (p->server->hsperfdata && p->pid != 0)
		due_ns = sooner_ns(due_ns, process_turn_page(p, now));
	if (p->pid != 0)
		due_ns = sooner_ns(due_ns, process_turn_threads(p, now));
	if (p->pid != 0 && instant_before(now, p->doubt_end))
		due_ns = sooner_ns(due_ns, DOUBT_PERIOD_NS);
	return due_ns;
}

void
process_page_returned(struct process *p, struct hsperf_page *page)
{
	if (p->page == page)
		p->page = NULL;
	hsperf_page_free(&page);
}

bool
process_owns(const struct process *p, pid_t pid)
{
	return p->pid != 0 && pid > 0 &&
	       (pid == p->jvm || proc_descends(pid, p->pid));
}

void
process_describe(const struct process *p, unsigned agents,
    enum profiler_source *source, char detail[PAGE_TEXT])
{
	const char *page = p->page != NULL ? p->page->text : NULL;

	*source = agents > 0	  ? PROFILER_SOURCE_AGENT
		  : page != NULL  ? PROFILER_SOURCE_HSPERFDATA
		  : p->pidfd >= 0 ? PROFILER_SOURCE_PIDFD
				  : PROFILER_SOURCE_NONE;
	if (agents > 0 && page != NULL)
		snprintf(
		    detail, PAGE_TEXT, "agent, safepoints from %.80s", page);
	else if (agents > 0)
		snprintf(detail, PAGE_TEXT, "agent, no safepoints");
	else if (p->pid == 0)
		snprintf(detail, PAGE_TEXT, "%s", p->where);
	else if (page != NULL)
		snprintf(detail, PAGE_TEXT, "%s", page);
	else if (!p->server->hsperfdata)
		snprintf(detail, PAGE_TEXT, "only its end is watched");
	else
		snprintf(detail, PAGE_TEXT, "%s",
		    p->why[0] != '\0' ? p->why : "looking for hsperfdata");
}
