#include "profiler/jvm/vm_thread.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/processes/proc.h"

/* Since Linux 4.17; before, a preempted thread looks asleep until it runs
 * on. */
#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif

int
vm_thread_open(struct vm_thread *out, pid_t pid)
{
	pid_t tid = proc_thread_named(pid, "VM Thread");
	struct perf_event_attr attr = {.size = sizeof(attr),
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_DUMMY,
	    .context_switch = 1,
	    .watermark = 1,
	    .wakeup_watermark = 1,
	    .exclude_kernel = 1, /* else CAP_PERFMON is needed */
	    .exclude_hv = 1};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int err;

	*out = (struct vm_thread){.fd = -1};
	if (tid <= 0)
		return -ESRCH;
	out->fd = (int)syscall(
	    SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	/* Map read only: the kernel then overwrites old records, and none need
	 * be taken. */
	out->ring = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, out->fd, 0);
	if (out->ring == MAP_FAILED) {
		err = -errno;
		close(out->fd);
		*out = (struct vm_thread){.fd = -1};
		return err;
	}
	return 0;
}

void
vm_thread_close(struct vm_thread *v)
{
	if (v->fd < 0)
		return;
	munmap(v->ring, 2 * (size_t)sysconf(_SC_PAGESIZE));
	close(v->fd);
	*v = (struct vm_thread){.fd = -1};
}

/* Reads the last record: all records are of switches and have eight bytes. */
bool
vm_thread_runs(const struct vm_thread *v)
{
	const struct perf_event_mmap_page *ring = v->ring;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)v->ring + ring->data_offset;
	struct perf_event_header last;
	uint64_t word;

	if (head < sizeof(last))
		return true;
	word = __atomic_load_n(
	    (const uint64_t *)(const void *)(data + (head - sizeof(last)) %
							ring->data_size),
	    __ATOMIC_RELAXED);
	memcpy(&last, &word, sizeof(last));
	return last.type != PERF_RECORD_SWITCH ||
	       (last.misc & (PERF_RECORD_MISC_SWITCH_OUT |
				PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)) !=
		   PERF_RECORD_MISC_SWITCH_OUT;
}
