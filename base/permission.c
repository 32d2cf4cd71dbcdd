#include "base/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define NAMES_BYTES 64
#define FIRST_PIDS 0xeffffffc /* inode of the first pid namespace */

static const struct {
	uint64_t bit;
	const char *name;
} names[] = {
    {PERMISSION_BPF, "CAP_BPF"},
    {PERMISSION_PERFMON, "CAP_PERFMON"},
    {PERMISSION_SYS_PTRACE, "CAP_SYS_PTRACE"},
    {PERMISSION_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
};

/* Write a set of capabilities: "CAP_BPF and CAP_PERFMON". */
static char *
spell(uint64_t set, char out[NAMES_BYTES])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((set & names[i].bit) != 0 && n < NAMES_BYTES)
			n += (size_t)snprintf(out + n, NAMES_BYTES - n, "%s%s",
			    n > 0 ? " and " : "", names[i].name);
	return out;
}

static void
read_status(struct permission *p)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "CapEff:", 7) == 0)
			p->effective = strtoull(line + 7, NULL, 16);
		else if (strncmp(line, "CapBnd:", 7) == 0)
			p->bounding = strtoull(line + 7, NULL, 16);
		else if (strncmp(line, "Seccomp:", 8) == 0)
			p->filtered = strtoul(line + 8, NULL, 10) == 2;
	}
	if (f != NULL)
		fclose(f);
}

/* Read the mode of lockdown: the word in brackets in "none [integrity]
 * confidentiality". */
static void
read_lockdown(struct permission *p)
{
	char line[64];
	const char *word;

	file_read_line(line, sizeof(line), "/sys/kernel/security/lockdown");
	word = strchr(line, '[');
	if (word != NULL && strncmp(word, "[none]", 6) != 0)
		snprintf(p->lockdown, sizeof(p->lockdown), "%.*s",
		    (int)strcspn(word + 1, "]"), word + 1);
}

/* Find the unit, if systemd started this process: the last part of the control
 * group, "0::/system.slice/tailor.service". */
static void
read_unit(struct permission *p)
{
	const char *started = getenv("SYSTEMD_EXEC_PID"), *slash;
	char line[256];

	if (started == NULL || strtol(started, NULL, 10) != (long)getpid() ||
	    !file_read_line(line, sizeof(line), "/proc/self/cgroup"))
		return;
	slash = strrchr(line, '/');
	if (slash != NULL && strstr(slash, ".service") != NULL)
		snprintf(p->unit, sizeof(p->unit), "%.63s", slash + 1);
}

void
permission_read(struct permission *p)
{
	struct stat pids;

	*p = (struct permission){.root = geteuid() == 0};
	p->container =
	    stat("/proc/self/ns/pid", &pids) == 0 && pids.st_ino != FIRST_PIDS;
	read_status(p);
	read_lockdown(p);
	read_unit(p);
}

/* Path of tailor, for a command to copy. */
static char *
program(char *out, size_t size)
{
	if (!file_beside("tailor", out, size) &&
	    !file_beside("../sbin/tailor", out, size))
		snprintf(out, size, "\"$(command -v tailor)\"");
	return out;
}

/* Write the remedy for missing capabilities that we, or our systemd unit, can
 * get. */
static void
remedy_lacking(const struct permission *p, char *out, size_t size)
{
	char path[128];

	if (p->unit[0] == '\0')
		snprintf(out, size,
		    "sudo setcap cap_bpf,cap_perfmon,cap_net_bind_service+ep "
		    "%s, or run tailor as root",
		    program(path, sizeof(path)));
	else if (file_beside("../share/tailor/kernel.conf", path, sizeof(path)))
		snprintf(out, size,
		    "install -Dm644 -t /etc/systemd/system/%s.d %s; systemctl "
		    "daemon-reload; systemctl restart %s",
		    p->unit, path, p->unit);
	else
		snprintf(out, size,
		    "systemctl edit %s: AmbientCapabilities=CAP_BPF "
		    "CAP_PERFMON, the same in CapabilityBoundingSet=, and "
		    "SystemCallFilter=bpf perf_event_open",
		    p->unit);
}

static uint64_t
lacking(const struct permission *p)
{
	/* CAP_SYS_ADMIN includes both. */
	return (p->effective & PERMISSION_SYS_ADMIN) != 0
		   ? 0
		   : PERMISSION_TRACE & ~p->effective;
}

bool
permission_to_trace(const struct permission *p)
{
	return lacking(p) == 0;
}

char *
permission_why(const struct permission *p, char *out, size_t size)
{
	uint64_t lacks = lacking(p);
	char text[NAMES_BYTES];

	if (lacks != 0)
		snprintf(out, size, "%s %s missing%s", spell(lacks, text),
		    lacks == PERMISSION_TRACE ? "are" : "is",
		    p->root ? ": this root lacks capabilities" : "");
	else if (p->filtered)
		snprintf(out, size,
		    "the kernel refuses although the capabilities are present: "
		    "a seccomp filter is in force");
	else if (p->lockdown[0] != '\0')
		snprintf(out, size,
		    "the kernel refuses although the capabilities are present: "
		    "the kernel is locked down (%s)",
		    p->lockdown);
	else
		snprintf(out, size,
		    "the kernel refuses although the capabilities are present: "
		    "check security modules and RLIMIT_MEMLOCK");
	return out;
}

char *
permission_remedy(const struct permission *p, char *out, size_t size)
{
	uint64_t lacks = lacking(p);
	const char *text;

	if (lacks != 0 && !p->root &&
	    (p->unit[0] != '\0' || (lacks & ~p->bounding) == 0)) {
		remedy_lacking(p, out, size);
		return out;
	}
	if (lacks != 0)
		text = "start the container with --cap-add BPF --cap-add "
		       "PERFMON, or add them to CapabilityBoundingSet= and "
		       "AmbientCapabilities= of the systemd unit";
	else if (p->filtered)
		text = "allow bpf and perf_event_open in the container's "
		       "seccomp profile, or in SystemCallFilter= of the unit";
	else if (p->lockdown[0] != '\0')
		text = "a kernel without lockdown; profiler.kernel=off avoids "
		       "this";
	else
		text = "look for the refusal in the kernel's log (dmesg); "
		       "profiler.kernel=off avoids this";
	snprintf(out, size, "%s", text);
	return out;
}

char *
permission_remedy_user(const struct permission *p, const char *user,
    uint64_t needed, char *out, size_t size)
{
	bool of_root = strcmp(user, "root") == 0;
	char text[NAMES_BYTES];

	if (!p->root)
		snprintf(out, size, "run tailor as %s%s", user,
		    of_root ? "" : " or as root");
	else if ((needed & ~p->effective) == 0)
		snprintf(out, size, "run tailor%s%s in its namespaces",
		    of_root ? "" : " as ", of_root ? "" : user);
	else
		snprintf(out, size, "%s%s%sgive this root %s",
		    of_root ? "" : "run tailor as ", of_root ? "" : user,
		    of_root ? "" : ", or ",
		    spell(needed & ~p->effective, text));
	return out;
}

char *
permission_start_as(const struct permission *p, const char *user,
    uint64_t needed, char *out, size_t size)
{
	char path[128];

	if (p->root)
		return permission_remedy_user(p, user, needed, out, size);
	if (p->unit[0] != '\0')
		snprintf(out, size,
		    "systemctl edit %s: [Service] User=%s, then restart it",
		    p->unit, user);
	else if (p->container)
		snprintf(out, size,
		    "start the container with --user %s, or --cap-add "
		    "SYS_PTRACE --cap-add DAC_READ_SEARCH; with --pid host, if "
		    "the server is in another one",
		    user);
	else
		snprintf(out, size, "sudo -u %s %s ...", user,
		    program(path, sizeof(path)));
	return out;
}
