/* probe_signals.c: tries what each signal needs. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/background.h"
#include "base/file.h"
#include "base/instant.h"
#include "base/permission.h"
#include "base/topology.h"
#include "base/terminal.h"
#include "tailorctl/probe.h"

#define CLOCK_READS 20000

void
probe_cpus(struct probe_finding *f)
{
	struct topology_plan plan;
	struct topology *t;
	int err = topology_open(&t, NULL);

	if (err < 0) {
		f->found = plain_format(
		    "hwloc cannot read this machine: %s", strerror(-err));
		f->enable = "a readable /sys";
		return;
	}
	topology_plan(t, &plan);
	f->available = plan.poll != TOPOLOGY_POLL_SLEEP;
	f->found = plain_format("%s", plan.why);
	if (!f->available)
		f->enable =
		    "an SMT sibling that nothing else needs, or profiler.poll "
		    "= spin and a CPU; without it, Tailor may notice a pause "
		    "as late as the observer's sleep ends";
	topology_close(&t);
}

/* Since Linux 6.12 the runtime of an ordinary thread is its time slice; an
 * older kernel ignores it.  Ask for one and read it back, then undo. */
void
probe_scheduler(struct probe_finding *f)
{
	struct scheduling old, new, seen = {0};

	if (scheduling_read(0, &old) < 0 || old.policy != SCHED_OTHER) {
		f->found = "not running under the ordinary scheduling policy";
		return;
	}
	new = old;
	new.runtime_ns = 100000; /* the smallest slice */
	if (scheduling_set(0, new) == 0) {
		scheduling_read(0, &seen);
		scheduling_set(0, old);
	}
	f->available = seen.runtime_ns == new.runtime_ns;
	if (f->available)
		f->found = plain_format(
		    "a thread may request a slice of 0.1 ms (this kernel's "
		    "default: %g ms)",
		    (double)old.runtime_ns / 1e6);
	else
		f->found = "this kernel does not let a thread choose its slice";
	if (!f->available)
		f->enable = "Linux 6.12 or later";
}

void
probe_clock(struct probe_finding *f)
{
	char source[64];
	struct instant begin = instant_now(), end = begin;

	if (!file_read_line(source, sizeof(source),
		"/sys/devices/system/clocksource/clocksource0/"
		"current_clocksource"))
		snprintf(source, sizeof(source), "unknown");
	for (int i = 0; i < CLOCK_READS; i++)
		end = instant_now();
	f->available = strcmp(source, "tsc") == 0 ||
		       strcmp(source, "arch_sys_counter") == 0;
	f->found = plain_format("clock source %.60s; one reading costs %.0f ns",
	    source, (double)instant_since(end, begin) / CLOCK_READS);
	if (!f->available)
		f->enable =
		    "clock source tsc: with another one each reading is a "
		    "system call, and an event costs about ten times as much";
}

void
probe_memory(struct probe_finding *f)
{
	struct statvfs fs;
	int fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool sealed =
	    fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;

	if (fd >= 0)
		close(fd);
	if (statvfs("/dev/shm", &fs) < 0 || access("/dev/shm", W_OK) < 0) {
		f->found = plain_format("/dev/shm: %s", strerror(errno));
		f->enable =
		    "a tmpfs on /dev/shm that this user may write to; without "
		    "it \"tailorctl log\" has no stream to follow";
		return;
	}
	f->available = sealed;
	f->found = plain_format("%llu MiB free in /dev/shm; %s",
	    (unsigned long long)fs.f_bavail * fs.f_frsize >> 20,
	    sealed ? "channels can be sealed"
		   : "memfd with seals does not work");
}

void
probe_exit(struct probe_finding *f)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	f->available = fd >= 0;
	f->found = fd >= 0 ? "processes can be watched"
			   : "this kernel has no pidfd_open";
	if (fd >= 0)
		close(fd);
	else
		f->enable = "Linux 5.3 or later";
}

/* Count performance pages of living JVMs in one directory. */
static void
count_pages(const char *directory, unsigned *all, unsigned *readable)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	int fd;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		char process[64];

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(process, sizeof(process), "/proc/%.20s", e->d_name);
		if (access(process, F_OK) < 0)
			continue; /* left behind by a killed JVM */
		++*all;
		fd = openat(dirfd(d), e->d_name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0) {
			++*readable;
			close(fd);
		}
	}
	closedir(d);
}

/* Count processes named java; a JVM may have another name. */
static unsigned
count_java(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char name[32];

		n += isdigit((unsigned char)e->d_name[0]) &&
		     file_read_line(
			 name, sizeof(name), "/proc/%s/comm", e->d_name) &&
		     strcmp(name, "java") == 0;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static void
count_all_pages(unsigned *all, unsigned *readable)
{
	DIR *d = opendir("/tmp");
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char path[300];

		if (strncmp(e->d_name, "hsperfdata_", 11) != 0)
			continue;
		snprintf(path, sizeof(path), "/tmp/%s", e->d_name);
		count_pages(path, all, readable);
	}
	if (d != NULL)
		closedir(d);
}

void
probe_pages(struct probe_finding *f)
{
	unsigned all = 0, readable = 0, java = count_java();

	count_all_pages(&all, &readable);
	f->available = readable > 0;
	f->found = plain_format(
	    "%u process%s called java; pages of %u JVM%s found, %u readable "
	    "by this user",
	    java, java == 1 ? "" : "es", all, all == 1 ? "" : "s", readable);
	if (java == 0 && all == 0)
		f->enable = "a running HotSpot JVM";
	else if (readable < java || readable < all)
		f->enable = plain_format(
		    "to run as the JVM's user%s, and a JVM without "
		    "-XX:-UsePerfData or -XX:+PerfDisableSharedMem",
		    geteuid() == 0 ? "" : " or as root");
}

void
probe_agent(struct probe_finding *f)
{
	char path[160];

	f->available = file_agent(path, sizeof(path));
	if (f->available) {
		f->found = plain_format("%.159s", path);
		f->enable = "start the JVM with -agentpath:FILE, this file";
	} else {
		f->found = "libtailor-jvm.so is not where make install puts it";
		f->enable = "a JDK when Tailor is built (make agent)";
	}
}

void
probe_steering(struct probe_finding *f)
{
	unsigned all = 0, readable = 0;
	char path[160];
	bool agent = file_agent(path, sizeof(path));

	count_all_pages(&all, &readable);
	f->available = readable > 0;
	f->found = plain_format("the heap%s of %u JVM%s visible; %s",
	    readable == 1 ? "" : "s", readable, readable == 1 ? " is" : "s are",
	    agent ? "the agent starts collections, and is loaded into a JVM "
		    "that lacks it. Each start costs the collection itself and "
		    "75 us of CPU for each MiB of eden that is still free"
		  : "there is no agent to start collections");
	if (!agent)
		f->enable =
		    "libtailor-jvm.so (make agent), or servers[].collect: "
		    "\"periodic\" with G1 (up to 1 s late; starts a concurrent "
		    "marking each time), or \"http:/path\"";
	else if (!f->available)
		f->enable =
		    "two running HotSpot JVMs with Serial, Parallel or G1, of "
		    "this user";
}

/* True if the kernel lets us create a BPF map. */
static bool
bpf_works(void)
{
	union bpf_attr attribute;
	int fd;

	memset(&attribute, 0, sizeof(attribute));
	attribute.map_type = BPF_MAP_TYPE_ARRAY;
	attribute.key_size = attribute.value_size = sizeof(uint32_t);
	attribute.max_entries = 1;
	fd = (int)syscall(
	    SYS_bpf, BPF_MAP_CREATE, &attribute, sizeof(attribute));
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EPERM;
}

void
probe_kernel(struct probe_finding *f)
{
	bool types = access("/sys/kernel/btf/vmlinux", R_OK) == 0, permitted;
	char why[160], remedy[PROBE_TEXT];
	struct permission p;

	permission_read(&p);
	permitted = permission_to_trace(&p) && bpf_works();
	f->available = permitted && types;
	if (!permitted) {
		f->found =
		    plain_format("%s", permission_why(&p, why, sizeof(why)));
		f->enable = plain_format(
		    "%s", permission_remedy(&p, remedy, sizeof(remedy)));
	} else if (!types) {
		f->found = "permitted, but this kernel has no type information "
			   "(/sys/kernel/btf/vmlinux)";
		f->enable =
		    "Linux 5.12 or later, built with CONFIG_DEBUG_INFO_BTF; "
		    "in a container, its /sys";
	} else {
		f->found = "permitted, with type information (BTF)";
	}
}

void
probe_counters(struct probe_finding *f)
{
	struct perf_event_attr attribute;
	int fd, err;

	memset(&attribute, 0, sizeof(attribute));
	attribute.size = sizeof(attribute);
	attribute.type = PERF_TYPE_HARDWARE;
	attribute.config = PERF_COUNT_HW_INSTRUCTIONS;
	attribute.disabled = 1;
	attribute.exclude_kernel = 1;
	fd = (int)syscall(
	    SYS_perf_event_open, &attribute, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	err = errno;
	f->available = fd >= 0;
	if (fd >= 0) {
		close(fd);
		f->found = "instructions can be counted";
		return;
	}
	f->found =
	    plain_format("instructions cannot be counted: %s", strerror(err));
	if (err == EACCES || err == EPERM)
		f->enable =
		    "CAP_PERFMON, or a lower kernel.perf_event_paranoid";
	else
		f->enable =
		    "a machine with a PMU; most virtual ones have none; "
		    "without "
		    "it profiler.counters has the kernel's alone";
}
