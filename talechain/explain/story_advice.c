/* story_advice.c: what one could do about a cause; one table.
 *
 * Two lines at most: what to change first, and what to try if that cannot be
 * changed.  Causes that call for nothing have none. */
#include <stdio.h>

#include "talechain/explain/explainer.h"

#define ADVICE_LINES 2

static const char *const advice[TALE_CAUSE_COUNT][ADVICE_LINES] = {
    [TALE_CAUSE_UNKNOWN] = {"run `tailorctl probe` to see which signals are "
			    "missing here, and what each needs",
	"link the server with talechain.h or TaleChain.java, so that it "
	"reports "
	"when it begins and ends a request"},
    [TALE_CAUSE_CLIENT_SEND] = {"look at the client: it sent late or slowly"},
    [TALE_CAUSE_CLIENT_LATE] = {"give the client's reading thread a CPU of "
				"its own, or more threads"},
    [TALE_CAUSE_ACCEPT_QUEUE] = {"see in Tailor's log why no server was "
				 "ready, or raise the limit on open files"},
    [TALE_CAUSE_PROXY] = {"give Tailor's proxy thread a CPU of its own "
			  "(proxy.cpu)"},
    [TALE_CAUSE_PROXY_QUEUE] = {"allow more requests at once to each server, "
				"or add capacity",
	"if no server was ready, see why in Tailor's log"},
    [TALE_CAUSE_NETWORK] = {"look at the load of the CPUs that handle the "
			    "network's softirqs"},
    [TALE_CAUSE_BACKEND_QUEUE] = {"give the server more worker threads, or "
				  "send it fewer requests at once"},
    [TALE_CAUSE_WORK] = {"profile the server for this request"},
    [TALE_CAUSE_LOW_IPC] = {"look at what else ran then: on the same core's "
			    "other lane, or with the same caches and memory",
	"pin the server to cores of its own (cpuset, nosmt)"},
    [TALE_CAUSE_SLOW_CLOCK] = {"set the governor to performance (cpupower "
			       "frequency-set), look for thermal limits"},
    [TALE_CAUSE_RUNQ] = {"pin the server to CPUs of its own, or isolate them "
			 "from the named program (cpuset, isolcpus)",
	"give the server a higher priority (nice, SCHED_FIFO)"},
    [TALE_CAUSE_PREEMPTED] = {"pin the server to CPUs of its own, or isolate "
			      "them from the named program (cpuset, isolcpus)",
	"give the server a higher priority (nice, SCHED_FIFO)"},
    [TALE_CAUSE_QUOTA] = {"raise or drop the CPU limit of its cgroup (cpu.max, "
			  "Kubernetes: limits.cpu)",
	"run fewer threads at once than the limit has CPUs"},
    [TALE_CAUSE_STEAL] = {"move this virtual machine to a host with free CPUs, "
			  "or to dedicated ones (mpstat shows %steal)"},
    [TALE_CAUSE_IRQ] = {"see which ones: /proc/interrupts, /proc/softirqs",
	"move them to other CPUs (/proc/irq/*/smp_affinity), or the server"},
    [TALE_CAUSE_STOPPED] =
	{"find what sent SIGSTOP, attached a debugger or froze its cgroup"},
    [TALE_CAUSE_LOCK] =
	{"look at what the named thread does while others "
	 "wait; if it holds a lock, split that, or hold it shorter"},
    [TALE_CAUSE_SLEEP] = {"look at what the server waits for: a timer, "
			  "another service, a pool"},
    [TALE_CAUSE_PAGE_FAULT] = {"touch memory before it is needed: "
			       "-XX:+AlwaysPreTouch, MAP_POPULATE, mlockall",
	"switch transparent huge pages off, or to madvise: zeroing 2 MiB at "
	"once takes long"},
    [TALE_CAUSE_RECLAIM] = {"give its cgroup, or the machine, more memory "
			    "(memory.max, Kubernetes: limits.memory)",
	"see memory.pressure and memory.stat of its cgroup; page cache that it "
	"fills counts, too"},
    [TALE_CAUSE_DISK] = {"keep what is read in memory (warm the page cache, "
			 "mlock), or read it ahead"},
    [TALE_CAUSE_SOFTIRQ] =
	{"move the network's interrupts to other CPUs (irq affinity, RPS)",
	    "on a virtual machine its host may have had the CPU meanwhile: "
	    "mpstat shows %steal, but not all hosts report it"},
    [TALE_CAUSE_IDLE_WAKEUP] =
	{"limit the depth of idle states: "
	 "/dev/cpu_dma_latency, or intel_idle.max_cstate",
	    "on a virtual machine also give the CPUs to it alone: its host may "
	    "have run something else first"},
    [TALE_CAUSE_GC] =
	{"let Tailor move requests to the other server "
	 "(servers[].jvm, hedging.mode), or tune the collector and heap"},
    [TALE_CAUSE_SAFEPOINT] = {"find the operation in the JVM's safepoint log: "
			      "-Xlog:safepoint"},
    [TALE_CAUSE_CLASS_LOADING] = {"send warm-up requests before real ones",
	"use class data sharing: -XX:SharedArchiveFile"},
    [TALE_CAUSE_EXIT] = {"find out why the server ended, in its own log"},
    [TALE_CAUSE_DELAYED_ACK] = {"set TCP_NODELAY on the sending socket",
	"or write head and body in one call"},
    [TALE_CAUSE_RETRANSMIT] = {"look for loss on the way: ip -s link, nstat "
			       "TcpRetransSegs"},
    [TALE_CAUSE_WINDOW] = {"let the receiver read faster, or give it a larger "
			   "buffer (SO_RCVBUF)"},
    [TALE_CAUSE_CONGESTION] = {"keep connections open and warm "
			       "(tcp_slow_start_after_idle=0)"},
    [TALE_CAUSE_CORK] = {"uncork (TCP_CORK, MSG_MORE) as soon as the "
			 "response is whole"},
    [TALE_CAUSE_SWITCHED] = {"a shorter timer, or more hazard signals, would "
			     "re-send sooner"},
    [TALE_CAUSE_BLIND] = {"give the observer a CPU of its own "
			  "(profiler.cpu, profiler.poll)"},
    [TALE_CAUSE_LOST] = {"make the rings larger, or poll them more often"},
    [TALE_CAUSE_NOT_OBSERVED] =
	{"link the server with talechain.h or TaleChain.java, so that it "
	 "reports when it begins and ends a request",
	    "look at the server's cpu.stat (nr_throttled) and its worker "
	    "processes"},
};

void
advice_write(struct explainer *ex)
{
	struct story_verdict *v = &ex->s->verdict;

	for (int i = 0; i < ADVICE_LINES && ex->s->total_ns > 0; i++)
		if (advice[v->cause][i] != NULL)
			snprintf(v->advice[i], sizeof(v->advice[i]), "%s",
			    advice[v->cause][i]);
}
