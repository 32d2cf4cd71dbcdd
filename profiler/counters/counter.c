/* counter.c: opening counters, and the two ways to read them.
 *
 * A virtual machine often has no PMU at all: then software events
 * (task-clock, page-faults, context-switches) still work, by read(2). */
#include "profiler/counters/counter.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "profiler/counters/counter_page.h"

/* The result of read(2) in our read_format. */
struct counter_reading {
	uint64_t value, enabled, running;
};

static uint64_t
rdpmc(unsigned n)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdpmc((int)n);
#else
	(void)n; /* not called: counter_is_here is false */
	return 0;
#endif
}

const char *
counter_way_name(enum counter_way way)
{
	static const char *const names[] = {
	    [COUNTER_RDPMC] = "rdpmc", [COUNTER_READ] = "read"};

	return NAME_IN(names, way);
}

/* Explain a failure: the event, the reason and the remedy. */
static int
complain(int err, const char *name, pid_t pid, char *why, size_t size)
{
	switch (-err) {
	case EINVAL:
		snprintf(why, size,
		    "%s: no such event; `perf list` names those of this "
		    "machine",
		    name);
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		snprintf(why, size,
		    "%s: this machine does not count it (most virtual "
		    "machines have no PMU); software events such as "
		    "task-clock work everywhere",
		    name);
		err = -ENOENT;
		break;
	case EACCES:
	case EPERM:
		snprintf(why, size,
		    "%s: not permitted; run with CAP_PERFMON, or as root "
		    "sysctl kernel.perf_event_paranoid=0",
		    name);
		err = -EACCES;
		break;
	case ESRCH:
		snprintf(
		    why, size, "%s: there is no process %ld", name, (long)pid);
		break;
	default:
		snprintf(why, size, "%s: %s", name, strerror(-err));
	}
	return err;
}

bool
counter_is_here(pid_t pid, int cpu)
{
#if defined(__x86_64__)
	cpu_set_t own;

	return pid == 0 ||
	       (pid < 0 && sched_getaffinity(0, sizeof(own), &own) == 0 &&
		   CPU_COUNT(&own) == 1 && CPU_ISSET((size_t)cpu, &own));
#else
	(void)pid;
	(void)cpu;
	return false;
#endif
}

/* Map an event's page and find the cheapest way to read the event.  Its page
 * gives the number of its hardware counter wherever that is. */
static enum counter_way
way_of(struct counter *c)
{
	const struct perf_event_mmap_page *page;
	uint64_t value;

	c->page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ,
	    MAP_SHARED, c->fd, 0);
	if (c->page == MAP_FAILED) {
		c->page = NULL;
		return COUNTER_READ;
	}
	page = c->page;
	if (page->cap_user_rdpmc && counter_page_read(page, rdpmc, &value))
		return COUNTER_RDPMC;
	return COUNTER_READ;
}

/* Fill in the event of this name.  Returns 0 or a negative errno. */
static int
describe(struct perf_event_attr *a, const char *name)
{
	struct counter_number number;
	int err = counter_number_find(&number, name, NULL);

	if (err < 0)
		return err;
	*a = (struct perf_event_attr){.size = sizeof(*a),
	    .type = number.type,
	    .config = number.config,
	    .config1 = number.config1,
	    .config2 = number.config2,
	    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING};
	return 0;
}

/* Open the event, which then counts.  Returns 0 or a negative errno. */
static int
start(struct counter *out, struct perf_event_attr *a, pid_t pid, int cpu)
{
	out->fd = (int)syscall(
	    SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	return 0;
}

static bool
is_clock(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK ||
		   a->config == PERF_COUNT_SW_TASK_CLOCK);
}

int
counter_open(struct counter *out, const char *name, pid_t pid, int cpu,
    char *why, size_t size)
{
	struct perf_event_attr a;
	int err = describe(&a, name);

	*out = (struct counter){.fd = -1};
	if (err == 0 && pid < 0 && is_clock(&a)) {
		snprintf(why, size,
		    "%s: of a CPU it counts the time that passes, busy or idle",
		    name);
		return -EINVAL;
	}
	if (err == 0)
		err = start(out, &a, pid, cpu);
	if (err < 0)
		return complain(err, name, pid, why, size);
	out->way = COUNTER_READ;
	if (a.type != PERF_TYPE_SOFTWARE && counter_is_here(pid, cpu))
		out->way = way_of(out);
	return 0;
}

int
counter_open_family(
    struct counter *out, const char *name, pid_t tid, char *why, size_t size)
{
	struct perf_event_attr a = {0};
	int err = describe(&a, name);

	*out = (struct counter){.fd = -1, .way = COUNTER_READ};
	a.inherit = 1;
	if (err == 0)
		err = start(out, &a, tid, -1);
	/* Count user space alone; not for software events, most of which happen
	 * in the kernel. */
	if (err == -EACCES && a.type != PERF_TYPE_SOFTWARE) {
		a.exclude_kernel = 1;
		err = start(out, &a, tid, -1);
	}
	return err < 0 ? complain(err, name, tid, why, size) : 0;
}

void
counter_close(struct counter *c)
{
	if (c->page != NULL)
		munmap(c->page, (size_t)sysconf(_SC_PAGESIZE));
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct counter){.fd = -1};
}

void
counter_switch(struct counter *c, bool on)
{
	if (c->fd >= 0)
		ioctl(c->fd,
		    on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

bool
counter_read(struct counter *c, uint64_t *value)
{
	struct counter_reading r;

	if (c->way == COUNTER_RDPMC && counter_page_read(c->page, rdpmc, value))
		return true;
	if (read(c->fd, &r, sizeof(r)) != (ssize_t)sizeof(r))
		return false;
	c->enabled_ns = r.enabled;
	c->running_ns = r.running;
	*value = r.running > 0 && r.running < r.enabled
		     ? (uint64_t)((double)r.value * (double)r.enabled /
				  (double)r.running)
		     : r.value;
	return true;
}

double
counter_counted(const struct counter *c)
{
	return c->running_ns < c->enabled_ns
		   ? (double)c->running_ns / (double)c->enabled_ns
		   : 1;
}
