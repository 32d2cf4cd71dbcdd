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

/* Parts of a line: missing signals with reasons; remedies. */
struct missing {
	char what[2 * WHY_BYTES];
	char fix[2 * FIX_BYTES];
};

static void
add(char *out, size_t size, const char *separator, const char *text)
{
	if (*text != '\0')
		text_append(
		    out, size, "%s%s", *out != '\0' ? separator : "", text);
}

static void
miss(struct missing *m, const char *part, const char *why, const char *fix)
{
	char text[WHY_BYTES + 40];

	snprintf(text, sizeof(text), "%s: %s", part, why);
	add(m->what, sizeof(m->what), "; ", text);
	add(m->fix, sizeof(m->fix), "; ", fix);
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
miss_page(const char *path, const struct process *p, struct missing *m)
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
		snprintf(fix, sizeof(fix), "servers[%u].jvm=auto", p->index);
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
	miss(m, "collections", why, fix);
}

/* Add what is missing if the JVM's page belongs to another user. */
static void
miss_user(const struct process *p, struct missing *m)
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
	miss(m, "collections", p->why, fix);
}

static void
miss_collections(const char *socket, const struct process *p, struct missing *m)
{
	const struct runtimes_server *r = &p->runtimes->server[p->index];
	const struct runtime *runtime;
	char file[PATH_MAX], why[WHY_BYTES], fix[FIX_BYTES];

	if (!p->server.hsperfdata && !p->server.agent &&
	    p->server.probes == PROFILER_PROBES_OFF)
		return; /* servers[].jvm is none: collections are not wanted */
	runtime = runtime_of_process(p->jvm, file);
	if (strstr(p->why, "belongs to user") != NULL) {
		miss_user(p, m);
	} else if (runtime != NULL && runtime->page) {
		miss_page(socket, p, m);
	} else if (runtime != NULL && runtime->asked &&
		   p->server.probes != PROFILER_PROBES_ON) {
		snprintf(why, sizeof(why), "%s is probed only on request",
		    runtime->name);
		snprintf(fix, sizeof(fix), "servers[%u].jvm=usdt", p->index);
		miss(m, "collections", why, fix);
	} else if (runtime != NULL) {
		snprintf(why, sizeof(why), "no probes of %s: %s", runtime->name,
		    r->off != NULL ? r->why : "not yet");
		miss(m, "collections", why, r->off != NULL ? r->remedy : "");
	} else {
		snprintf(why, sizeof(why),
		    "%s has no runtime that Tailor knows (HotSpot, V8, "
		    "CPython)",
		    p->name);
		snprintf(fix, sizeof(fix),
		    "servers[%u].jvm=none if it has none", p->index);
		miss(m, "collections", why, fix);
	}
}

/* --- the line ------------------------------------------------------------- */

static void
report(const struct process *p, const struct observed_facts *facts)
{
	struct missing m = {"", ""};
	char sees[2 * WHY_BYTES] = "", text[WHY_BYTES], name[PROC_NAME_BYTES];

	/* A launched process has another name until it has called exec. */
	proc_name(p->pid, name);

	if (p->pidfd >= 0)
		add(sees, sizeof(sees), ", ", "end, restart");
	snprintf(text, sizeof(text), "collections (%s)", facts->detail);
	if (facts->collections)
		add(sees, sizeof(sees), ", ", text);
	else
		miss_collections(facts->socket, p, &m);
	if (p->kernel != NULL)
		add(sees, sizeof(sees), ", ", KERNEL_PARTS);
	else
		miss(&m, KERNEL_PARTS, facts->kernel_why, facts->kernel_fix);
	if (m.what[0] == '\0')
		log_event(LOG_LEVEL_NOTICE, "server_observed",
		    "server=%s pid=%d program=\"%s\" sees=\"%s\"",
		    p->server.name, (int)p->pid, name, sees);
	else
		log_event(LOG_LEVEL_NOTICE, "server_observed",
		    "server=%s pid=%d program=\"%s\" sees=\"%s\" misses=\"%s\" "
		    "do=\"%s\"",
		    p->server.name, (int)p->pid, name, sees, m.what, m.fix);
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
	report(p, facts);
	o->reported = true;
	o->collections = facts->collections;
	return -1;
}
