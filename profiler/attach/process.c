#include "profiler/attach/process.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/log.h"
#include "base/permission.h"

#define FIND_PERIOD_NS (200 * NS_PER_MS)
#define FIND_STEP_NS (1 * NS_PER_MS)
/* How often the set is searched if the kernel does not follow it; how often the
 * sockets of its address are compared. */
#define FAMILY_PERIOD_NS (60 * NS_PER_S)
#define SOCKETS_PERIOD_NS (5 * NS_PER_S)
/* A JVM creates its page in its first tenths of a second. */
#define PAGE_SOON_NS (100 * NS_PER_MS)
#define PAGE_SOON_TRIES 100
#define PAGE_LATER_NS (5 * NS_PER_S)
#define PAGE_CHECK_NS (1 * NS_PER_S)
/* How many times it is not searched while no process has mapped memory: one
 * that had its page may have begun to serve. */
#define PAGE_SKIPS 20
/* Retry period while there are no threads to watch. */
#define THREAD_PERIOD_NS (100 * NS_PER_MS)
#define THREAD_TRIES 100
#define THREAD_LATER_NS (5 * NS_PER_S)
/* How often and how long a process is checked after a thread's end: the first
 * thread of a killed process may end well before the last. */
#define DOUBT_PERIOD_NS (500 * NS_PER_US)
#define DOUBT_NS (50 * NS_PER_MS)

void
process_init(
    struct process *p, unsigned index, const struct profiler_server *server)
{
	memset(p, 0, sizeof(*p));
	p->index = index;
	p->server = *server;
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

void
process_watch(struct process *p)
{
	pid_t pid;

	if (p->kernel != NULL && p->watched_generation != p->generation)
		kernel_unwatch(p->kernel, p->index);
	p->watched_generation = p->generation;
	for (unsigned i = 0; p->kernel != NULL && i < p->family.count; i++) {
		pid = p->family.pid[i];
		if (!kernel_watches(p->kernel, pid))
			kernel_watch(
			    p->kernel, p->index, pid, finder_alone(pid));
	}
	if (p->watched_jvm != p->jvm)
		runtimes_process(p->runtimes, p->index, p->jvm);
	p->watched_jvm = p->jvm;
	runtimes_workers(p->runtimes, p->index, p->family.pid, p->family.count);
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
	/* Watch a new process before announcing it. */
	if (kind == COMMAND_SERVER_START)
		process_watch(p);
	sender_send(p->sender, &o);
}

/* The address at which the server is searched. */
static const struct sockaddr_storage *
process_address(const struct process *p)
{
	return p->at_other ? &p->server.other : &p->server.address;
}

static void
process_drop_page(struct process *p)
{
	if (p->page != NULL)
		process_command(p, COMMAND_PAGE_END, NULL);
	p->page = NULL;
	p->why[0] = '\0';
	p->page_tries = p->page_vain = 0;
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

/* Forget the server's process: none is known now; where explains why. */
static void
process_forget(struct process *p, struct instant now, const char *where)
{
	process_drop_page(p);
	process_unwatch(p);
	p->pid = p->jvm = 0;
	p->family.count = 0;
	p->name[0] = '\0';
	p->settled = p->followed = false;
	p->generation++;
	p->searched++;
	p->find_at = now;
	finder_fini(&p->finder);
	snprintf(p->where, sizeof(p->where), "%s", where);
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
	sender_send(p->sender, &o);
	/* The supervisor logs the end of a process that it launched. */
	if (p->server.address.ss_family != AF_UNSPEC)
		log_event(LOG_LEVEL_NOTICE, "server_exited", "server=%s pid=%d",
		    p->server.name, (int)p->pid);
	p->ended = p->pid;
	process_forget(p, now, "its process is gone");
}

void
process_set(
    struct process *p, const struct profiler_server *server, struct instant now)
{
	p->ended = 0;
	p->at_other = false;
	process_forget(p, now, "its process is not known yet");
	process_command(p, COMMAND_SERVER_START, NULL);
	p->server = *server;
}

/* Make a process the server's main one.  Returns the result of proc_pidfd. */
static int
process_main(struct process *p, pid_t pid, struct instant now)
{
	int pidfd = proc_pidfd(pid);

	process_unwatch(p);
	p->pidfd = pidfd < 0 ? -1 : pidfd;
	p->pid = pid;
	proc_name(pid, p->name);
	p->thread_at = now;
	p->threads_seen = 0;
	p->doubt_end = now;
	return pidfd;
}

/* Take these processes as the server, the first as its main one. */
static void
process_found(struct process *p, const struct family *found, const char *how,
    struct instant now)
{
	pid_t pid = found->pid[0];
	int pidfd;

	process_drop_page(p);
	finder_fini(&p->finder);
	pidfd = process_main(p, pid, now);
	p->jvm = pid;
	p->jvm_serves = false;
	p->family = *found;
	p->page_at = p->sockets_at = now;
	/* Search children of the process a little later: a search delays other
	 * work at the server's start. */
	p->find_at = instant_plus(now, FIND_PERIOD_NS);
	p->settled = p->followed = false;
	p->generation++;
	p->searched++;
	if (pidfd == -ESRCH) {
		process_gone(p, now);
		return;
	}
	process_command(p, COMMAND_SERVER_START, NULL);
	log_event(LOG_LEVEL_INFO, "server_found", "server=%s pid=%d how=%s",
	    p->server.name, (int)pid, how);
	if (pidfd < 0)
		log_event(LOG_LEVEL_WARNING, "server_exit_unwatched",
		    "server=%s error=\"%s\" costs=\"its end is not noticed "
		    "at once\"",
		    p->server.name, strerror(-pidfd));
	p->changed = true;
}

static void
process_check_assigned(struct process *p, struct instant now)
{
	uint64_t assigned = __atomic_load_n(&p->assigned, __ATOMIC_ACQUIRE);
	pid_t pid = (pid_t)(uint32_t)assigned;
	struct family alone = {.pid = {pid}, .count = 1};

	if (assigned == p->assigned_seen)
		return;
	p->assigned_seen = assigned;
	if (pid == p->pid)
		return;
	if (pid == 0)
		process_gone(p, now);
	else
		process_found(p, &alone, "assigned", now);
}

/* Replace the main process, which has ended, by another process of the set that
 * listens, if possible by one above the others.  False: none listens. */
static bool
process_hand_over(struct process *p, struct instant now)
{
	pid_t pid = 0, was = p->pid;

	for (unsigned i = 0; i < p->family.count && pid == 0; i++)
		if (p->family.pid[i] != was &&
		    !proc_is_ending(p->family.pid[i]) &&
		    finder_holds(p->family.pid[i], process_address(p)))
			pid = p->family.pid[i];
	if (pid == 0 || process_main(p, pid, now) == -ESRCH)
		return false;
	if (p->jvm == was) {
		process_drop_page(p);
		p->jvm = pid;
		p->jvm_serves = false;
		p->page_at = now;
	}
	/* The set is searched anew. */
	p->settled = false;
	p->find_at = now;
	log_event(LOG_LEVEL_NOTICE, "server_main_ended",
	    "server=%s pid=%d now=%d", p->server.name, (int)was, (int)pid);
	return true;
}

/* Explain why a process may not be examined: it is another user's, or ours with
 * more privileges. */
static void
process_foreign(
    const struct process *p, char text[PAGE_TEXT], char fix[PERMISSION_TEXT])
{
	char user[PROC_USER_BYTES] = "another user", remedy[PAGE_TEXT];
	uid_t uid = p->finder.sockets.uid;
	struct permission permission;

	permission_read(&permission);
	if (uid == geteuid() && !permission.root) {
		snprintf(text, PAGE_TEXT,
		    "its process has capabilities or a group that tailor "
		    "lacks");
		snprintf(fix, PERMISSION_TEXT,
		    "run tailor as root, or with the same: usually "
		    "CAP_NET_BIND_SERVICE, as in tailor@USER.service");
		return;
	}
	if (uid != (uid_t)-1)
		proc_user_name(uid, user);
	snprintf(text, PAGE_TEXT, "its process belongs to user %s: %s", user,
	    permission_remedy_user(&permission, user,
		PERMISSION_SYS_PTRACE | PERMISSION_DAC_READ_SEARCH, remedy,
		sizeof(remedy)));
	permission_start_as(&permission, user,
	    PERMISSION_SYS_PTRACE | PERMISSION_DAC_READ_SEARCH, fix,
	    PERMISSION_TEXT);
}

/* Log why a server's process cannot be found, once per reason. */
static void
process_lost(struct process *p, enum finder_result why)
{
	char text[PAGE_TEXT], fix[PERMISSION_TEXT];
	enum log_level level = LOG_LEVEL_INFO;

	if (why == FINDER_NONE &&
	    finder_address_is_routed(&p->server.address)) {
		level = LOG_LEVEL_WARNING;
		snprintf(text, sizeof(text),
		    "nothing listens on its address here, and packets to it go "
		    "to a gateway, which may answer in its place");
		snprintf(fix, sizeof(fix),
		    "correct servers[].address, or start its container; with "
		    "servers[].health only the service counts as up");
	} else if (why == FINDER_NONE) {
		snprintf(
		    text, sizeof(text), "nothing listens on its address here");
		snprintf(fix, sizeof(fix),
		    "start it, or correct servers[].address; if it is in a "
		    "container of another user, run tailor as root");
	} else if (why == FINDER_ASLEEP) {
		snprintf(text, sizeof(text),
		    "systemd holds its socket and has not started it");
		snprintf(
		    fix, sizeof(fix), "nothing: its first connection does");
	} else {
		process_foreign(p, text, fix);
	}
	if (strcmp(text, p->where) == 0 || p->pid != 0)
		return;
	memcpy(p->where, text, sizeof(text));
	memcpy(p->fix, fix, sizeof(fix));
	p->foreign = why == FINDER_FOREIGN;
	/* At the start this line stands for that of observed.h: log it as
	 * notice.  Later the end of the process is in the log already. */
	if (p->generation == 0 && level == LOG_LEVEL_INFO)
		level = LOG_LEVEL_NOTICE;
	if (why == FINDER_FOREIGN)
		level = LOG_LEVEL_WARNING;
	log_event(level, "server_not_found", "server=%s why=\"%s\" do=\"%s\"",
	    p->server.name, text, fix);
}

/* True if the previous process is still ending. */
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
	bool again = p->hidden == p->finder.sockets.inode[0];

	p->hidden = p->finder.sockets.inode[0];
	if (again && !process_lingers(p))
		process_lost(p, FINDER_FOREIGN);
}

/* Take the result of a search for the server. */
static void
process_find_server(struct process *p, const struct family *found,
    enum finder_result r, struct instant now)
{
	if (r == FINDER_FOREIGN)
		process_hidden(p);
	else if (r != FINDER_FOUND)
		process_lost(p, r);
	else if (found->pid[0] != p->ended || !proc_is_ending(found->pid[0]))
		process_found(p, found, "listens", now);
}

/* Take the result of a search for more processes of a server. */
static void
process_find_family(struct process *p, const struct family *found)
{
	unsigned before = p->family.count;

	if (!p->followed)
		p->family.count = 0;
	family_add(&p->family, p->pid);
	for (unsigned i = 0; i < found->count; i++)
		family_add(&p->family, found->pid[i]);
	if (found->left_out > p->left_out)
		p->left_out = found->left_out;
	proc_name(p->pid, p->name);
	p->settled = p->family.count <= before;
	if (p->settled)
		return;
	p->searched++;
	p->changed = true;
}

/* True if a search is due; if false, *due_ns is the time until one is, -1:
 * never.  A known set is searched anew if its address has other sockets and, if
 * the kernel does not follow the set, at long intervals. */
static bool
process_may_search(struct process *p, struct instant now, int64_t *due_ns)
{
	bool listens = p->server.address.ss_family != AF_UNSPEC;

	*due_ns = -1;
	if (p->pid == 0 && !listens)
		return false;
	*due_ns = instant_since(p->find_at, now);
	/* A check whether the process ends is more urgent than a search. */
	if (p->pid != 0 && instant_before(now, p->doubt_end)) {
		*due_ns = instant_since(p->doubt_end, now);
		return false;
	}
	if (!p->settled || p->finder.proc != NULL)
		return *due_ns <= 0;
	if (*due_ns <= 0 && !p->followed)
		return true;
	if (p->followed)
		*due_ns = -1;
	if (!listens)
		return false;
	if (!instant_before(now, p->sockets_at)) {
		p->sockets_at = instant_plus(now, SOCKETS_PERIOD_NS);
		if (finder_changed(&p->finder, process_address(p)))
			return true;
	}
	*due_ns = sooner_ns(*due_ns, instant_since(p->sockets_at, now));
	return false;
}

/* Search a server's processes, some in each call.  Returns the time until the
 * next call, ns; -1: never. */
static int64_t
process_find(struct process *p, struct instant now)
{
	int64_t due_ns, next_ns = FIND_PERIOD_NS;
	struct family found;
	enum finder_result r;

	if (!process_may_search(p, now, &due_ns))
		return due_ns;
	r = finder_step(&p->finder, process_address(p), p->pid, &found);
	if (r == FINDER_MORE)
		next_ns = FIND_STEP_NS;
	else if (p->pid == 0)
		process_find_server(p, &found, r, now);
	else if (r == FINDER_FOUND)
		process_find_family(p, &found);
	else
		p->settled = true; /* the main process was not found */
	if (r == FINDER_NONE && p->pid == 0 &&
	    p->server.other.ss_family != AF_UNSPEC)
		p->at_other = !p->at_other;
	if (p->settled && r != FINDER_MORE)
		next_ns = FAMILY_PERIOD_NS;
	p->find_at = instant_plus(now, next_ns);
	return next_ns;
}

/* The process whose page to open: jvm and, while there is no page, each process
 * of the set in turn with it. */
static pid_t
process_page_owner(const struct process *p)
{
	unsigned turn = p->page_tries % (2 * p->family.count + 1);

	if (p->page != NULL || turn % 2 == 0)
		return p->jvm;
	return p->family.pid[turn / 2];
}

/* True if the page of a process counts: the JVM serves, or may. */
static bool
process_page_counts(struct process *p, pid_t owner)
{
	enum serving serving;

	if (owner == p->jvm && p->jvm_serves)
		return true;
	serving = process_serves(p, owner);
	if (owner == p->jvm)
		p->jvm_serves = serving == SERVING;
	return serving != SERVING_NOT;
}

/* Open the page of a process of the server.  False: there is none. */
static bool
process_open_page(struct process *p, pid_t owner)
{
	struct hsperf_page *page;
	char why[PAGE_TEXT];
	int err = -ESRCH;

	if (process_page_counts(p, owner))
		err = hsperf_page_open(&page, owner, why);
	else
		snprintf(why, sizeof(why),
		    "the process that listens has no hsperfdata");
	if (err < 0 && owner == p->jvm)
		memcpy(p->why, why, sizeof(p->why));
	if (err < 0)
		return false;
	p->jvm_serves = p->jvm_serves && owner == p->jvm;
	p->jvm = owner;
	process_command(p, COMMAND_PAGE, page);
	p->page = page;
	return true;
}

/* The size of the set's address spaces, pages. */
static uint64_t
process_extent(const struct process *p)
{
	unsigned long pages;
	uint64_t extent = 0;
	char text[128];

	for (unsigned i = 0; i < p->family.count; i++) {
		file_read_line(text, sizeof(text), "/proc/%d/statm",
		    (int)p->family.pid[i]);
		if (sscanf(text, "%lu", &pages) == 1)
			extent += pages;
	}
	return extent;
}

/* True if a search for the page may find one: each process has its turns, then
 * again if one has mapped memory, as a JVM does with its page.  A search reads
 * /tmp and the process's mappings, half a millisecond. */
static bool
process_page_may_be(struct process *p)
{
	unsigned turns = 2 * p->family.count + 1;
	uint64_t extent = process_extent(p);

	if (extent != p->page_extent || p->page_vain >= turns + PAGE_SKIPS)
		p->page_vain = 0;
	p->page_extent = extent;
	return p->page_vain++ < turns;
}

/* Find the page, or check that the present one is still valid. */
static int64_t
process_turn_page(struct process *p, struct instant now)
{
	pid_t owner = process_page_owner(p);
	int64_t next_ns = PAGE_CHECK_NS;

	if (instant_before(now, p->page_at))
		return instant_since(p->page_at, now);
	if (p->jvm != p->pid && proc_is_ending(p->jvm)) {
		process_drop_page(p);
		p->jvm = owner = p->pid;
		p->jvm_serves = false;
	}
	if (p->page != NULL && hsperf_page_is_dead(p->page)) {
		process_drop_page(p);
		log_event(LOG_LEVEL_WARNING, "hsperfdata_cut_short",
		    "server=%s pid=%d", p->server.name, (int)p->jvm);
	} else if (p->page != NULL && !process_page_counts(p, p->jvm)) {
		process_drop_page(p);
		next_ns = PAGE_SOON_NS;
	} else if ((p->page == NULL || hsperf_page_is_stale(p->page)) &&
		   !(process_page_may_be(p) && process_open_page(p, owner))) {
		next_ns = ++p->page_tries < PAGE_SOON_TRIES ? PAGE_SOON_NS
							    : PAGE_LATER_NS;
	}
	p->page_at = instant_plus(now, next_ns);
	return next_ns;
}

/* True if the main process has ended: its handle shows that or, sooner, those
 * of its threads. */
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
	       (instant_before(now, p->doubt_end) && proc_is_ending(p->pid));
}

/* Watch threads as soon as there are some.  If the kernel has no handles for
 * threads, only the process's own is watched. */
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
	p->threads = proc_thread_pidfds(p->pid, p->thread);
	p->threads_unknown = p->threads == -EINVAL || p->threads == -ENOSYS;
	if (p->threads < 0)
		p->threads = 0;
	return instant_since(p->thread_at, now);
}

int64_t
process_turn(struct process *p, bool readable, bool thread, struct instant now)
{
	int64_t due_ns = -1;

	if (p->pid != 0 && process_is_over(p, readable, thread, now)) {
		process_refresh(p);
		if (!process_hand_over(p, now))
			process_gone(p, now);
	}
	process_check_assigned(p, now);
	due_ns = sooner_ns(due_ns, process_find(p, now));
	if (p->server.hsperfdata && p->pid != 0)
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

void
process_follow(struct process *p, const pid_t *pid, unsigned count)
{
	struct family now = {.left_out = p->family.left_out};

	if (p->pid == 0 || count == 0)
		return; /* no processes are known */
	family_add(&now, p->pid);
	for (unsigned i = 0; i < count; i++)
		family_add(&now, pid[i]);
	p->family = now;
	p->followed = true;
}

void
process_refresh(struct process *p)
{
	pid_t pid[KERNEL_PROCESSES];

	if (p->kernel != NULL && kernel_follows(p->kernel))
		process_follow(
		    p, pid, kernel_members(p->kernel, p->index, pid));
}

bool
process_owns(const struct process *p, pid_t pid)
{
	return p->pid != 0 && pid > 0 &&
	       (family_has(&p->family, pid) || proc_descends(pid, p->pid));
}

enum serving
process_serves(const struct process *p, pid_t pid)
{
	const struct sockaddr_storage *const at[] = {
	    &p->server.listens, &p->server.other};
	bool listens = false;

	if (at[0]->ss_family == AF_UNSPEC)
		return SERVING_PERHAPS;
	for (unsigned i = 0; i < 2 && at[i]->ss_family != AF_UNSPEC; i++) {
		if (finder_holds(pid, at[i]))
			return SERVING;
		listens |= finder_listens(pid, at[i]);
	}
	return pid == p->pid && !listens ? SERVING_PERHAPS : SERVING_NOT;
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
	else if (strcmp(p->name, "docker-proxy") == 0)
		snprintf(detail, PAGE_TEXT,
		    "docker-proxy listens there, the server is in a container");
	else if (!p->server.hsperfdata)
		snprintf(detail, PAGE_TEXT, "only its end is watched");
	else
		snprintf(detail, PAGE_TEXT, "%s",
		    p->why[0] != '\0' ? p->why : "looking for hsperfdata");
}
