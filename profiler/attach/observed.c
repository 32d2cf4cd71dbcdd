#include "profiler/attach/observed.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/permission.h"
#include "base/text.h"

#define WHY_BYTES PERMISSION_TEXT
#define FIX_BYTES PERMISSION_TEXT
#define KERNEL_PARTS "stops, quota, kernel events"

static void
add(char *out, size_t size, const char *separator, const char *text)
{
	if (*text != '\0')
		text_append(
		    out, size, "%s%s", *out != '\0' ? separator : "", text);
}

static void
miss(struct observed *o, const char *what, const char *why, const char *fix)
{
	struct profiler_miss *m = &o->miss[o->misses++];

	m->what = what;
	snprintf(m->why, sizeof(m->why), "%s", why);
	snprintf(m->fix, sizeof(m->fix), "%s", fix);
}

/* --- collections ---------------------------------------------------------- */

/* The option on a JVM's command line that switches its page off; NULL: none. */
static const char *
page_option(pid_t pid)
{
	static const char *const option[] = {
	    "-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"};

	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		if (proc_has_argument(pid, option[i]))
			return option[i];
	return NULL;
}

/* Add what is missing for a JVM that keeps no page. */
static void
miss_page(const char *path, const struct process *p, struct observed *o)
{
	const char *option = page_option(p->jvm);
	char agent[160], why[WHY_BYTES], fix[FIX_BYTES];

	if (option == NULL && p->why[0] != '\0')
		snprintf(why, sizeof(why), "%.*s", (int)strcspn(p->why, ":"),
		    p->why);
	else
		snprintf(why, sizeof(why), "its JVM has %s",
		    option != NULL ? option : "no hsperfdata");
	if (!p->server.agent)
		snprintf(
		    fix, sizeof(fix), "--set servers.%u.jvm=auto", p->index);
	else if (path != NULL && file_agent(agent, sizeof(agent)) &&
		 proc_has_argument(p->jvm, "-XX:+DisableAttachMechanism"))
		/* jcmd makes such a JVM print its threads. */
		snprintf(fix, sizeof(fix),
		    "start it with -agentpath:%s=socket=%s", agent, path);
	else if (path != NULL && file_agent(agent, sizeof(agent)))
		snprintf(fix, sizeof(fix), "jcmd %d JVMTI.agent_load %s %s",
		    (int)p->jvm, agent, path);
	else
		snprintf(fix, sizeof(fix), "restart it%s%s",
		    option != NULL ? " without " : "",
		    option != NULL ? option : "");
	miss(o, "collections", why, fix);
}

/* Add what is missing if the JVM's page belongs to another user. */
static void
miss_user(const struct process *p, struct observed *o)
{
	char user[PROC_USER_BYTES], fix[FIX_BYTES];
	struct permission permission;
	uid_t uid = 0;

	proc_uid(p->jvm, &uid);
	proc_user_name(uid, user);
	permission_read(&permission);
	permission_start_as(&permission, user,
	    PERMISSION_SYS_PTRACE | PERMISSION_DAC_READ_SEARCH, fix,
	    sizeof(fix));
	miss(o, "collections", p->why, fix);
}

static void
miss_collections(
    const char *socket, const struct process *p, struct observed *o)
{
	const struct runtimes_server *r = &p->runtimes->server[p->index];
	const struct runtime *runtime;
	char file[PATH_MAX], why[WHY_BYTES], fix[FIX_BYTES];

	if (!p->server.hsperfdata && !p->server.agent &&
	    p->server.probes == PROFILER_PROBES_OFF)
		return; /* servers[].jvm is none: collections are not wanted */
	runtime = runtime_of_process(p->jvm, file);
	if (strstr(p->why, "belongs to user") != NULL) {
		miss_user(p, o);
	} else if (runtime != NULL && runtime->page) {
		miss_page(socket, p, o);
	} else if (runtime != NULL && runtime->asked &&
		   p->server.probes != PROFILER_PROBES_ON) {
		snprintf(why, sizeof(why), "%s is probed only on request",
		    runtime->name);
		snprintf(
		    fix, sizeof(fix), "--set servers.%u.jvm=usdt", p->index);
		miss(o, "collections", why, fix);
	} else if (runtime != NULL) {
		snprintf(why, sizeof(why), "no probes of %s: %s", runtime->name,
		    r->off != NULL ? r->why : "not yet");
		miss(o, "collections", why, r->off != NULL ? r->remedy : "");
	} else {
		snprintf(why, sizeof(why),
		    "%s has no runtime that Tailor knows (HotSpot, V8, "
		    "CPython)",
		    p->name);
		snprintf(fix, sizeof(fix),
		    "--set servers.%u.jvm=none if the server has no such "
		    "runtime",
		    p->index);
		miss(o, "collections", why, fix);
	}
}

/* --- the line ------------------------------------------------------------- */

static void
report(struct observed *o, const struct process *p,
    const struct observed_facts *facts)
{
	char sees[2 * WHY_BYTES] = "", text[WHY_BYTES], name[PROC_NAME_BYTES];
	char misses[2 * WHY_BYTES] = "", fix[2 * FIX_BYTES] = "";

	o->misses = 0;
	/* A launched process has another name until it has called exec. */
	proc_name(p->pid, name);

	if (p->pidfd >= 0)
		add(sees, sizeof(sees), ", ", "end, restart");
	snprintf(text, sizeof(text), "collections (%s)", facts->detail);
	if (facts->collections)
		add(sees, sizeof(sees), ", ", text);
	else
		miss_collections(facts->socket, p, o);
	if (p->kernel != NULL)
		add(sees, sizeof(sees), ", ", KERNEL_PARTS);
	else
		miss(o, KERNEL_PARTS, facts->kernel_why, facts->kernel_fix);
	for (unsigned i = 0; i < o->misses; i++) {
		char part[WHY_BYTES + 40];

		snprintf(part, sizeof(part), "%s: %s", o->miss[i].what,
		    o->miss[i].why);
		add(misses, sizeof(misses), "; ", part);
		add(fix, sizeof(fix), "; ", o->miss[i].fix);
	}
	if (o->misses == 0)
		log_event(LOG_LEVEL_NOTICE, "server_observed",
		    "server=%s pid=%d program=\"%s\" sees=\"%s\"",
		    p->server.name, (int)p->pid, name, sees);
	else
		log_event(LOG_LEVEL_NOTICE, "server_observed",
		    "server=%s pid=%d program=\"%s\" sees=\"%s\" misses=\"%s\" "
		    "do=\"%s\"",
		    p->server.name, (int)p->pid, name, sees, misses, fix);
}

int64_t
observed_turn(struct observed *o, const struct process *p,
    const struct observed_facts *facts, struct instant now)
{
	int64_t age_ns;

	if (o->generation != p->generation)
		*o = (struct observed){
		    .generation = p->generation, .found = now};
	if (p->pid == 0 ||
	    (o->reported && o->collections >= facts->collections))
		return -1;
	age_ns = instant_since(now, o->found);
	if (!facts->collections && age_ns < OBSERVED_PATIENCE_NS)
		return OBSERVED_PATIENCE_NS - age_ns;
	report(o, p, facts);
	o->reported = true;
	o->collections = facts->collections;
	return -1;
}
