/* owner.c: runs for every kernel event that the observer reads.  Cost: the load
 * of a byte or two, or some comparisons. */
#include "profiler/channels/owner.h"

int
kernel_owner_of(const struct kernel_owners *o, uint32_t tgid)
{
	int mark;

	if (tgid >= o->marks)
		return -1;
	mark = __atomic_load_n(&o->mark[tgid], __ATOMIC_RELAXED) &
	       KERNEL_MARK_WHOSE;
	return mark >= KERNEL_MARK_SERVER && mark < KERNEL_MARK_PEER
		   ? mark - KERNEL_MARK_SERVER
		   : -1;
}

bool
kernel_is_alone(const struct kernel_owners *o, unsigned server)
{
	unsigned n = 0;

	for (unsigned i = 0; i < KERNEL_PROCESSES; i++)
		n += __atomic_load_n(&o->member[server][i], __ATOMIC_RELAXED) !=
		     0;
	return n == 1;
}

/* The server of process a or, if that has none, of process b; -1: none. */
static int
owner_of_either(const struct kernel_owners *o, uint32_t a, uint32_t b)
{
	int server = kernel_owner_of(o, a);

	return server >= 0 ? server : kernel_owner_of(o, b);
}

/* The server of a segment, by its arg[3]: local_port:16/remote_port:16/...;
 * -1: none. */
static int
owner_of_ports(const struct kernel_owners *o, uint64_t ports)
{
	for (unsigned i = 0; i < KERNEL_SERVERS; i++) {
		uint16_t port = __atomic_load_n(&o->port[i], __ATOMIC_RELAXED);

		if (port != 0 && (port == (uint16_t)(ports >> 48) ||
				     port == (uint16_t)(ports >> 32)))
			return (int)i;
	}
	return -1;
}

int
kernel_owner(
    const struct kernel_owners *owners, const struct talechain_event *e)
{
	switch (e->type) {
	case TALECHAIN_WAKEUP:
		/* The interrupted task is not the waker. */
		return owner_of_either(owners, (uint32_t)e->arg[1],
		    e->arg[2] >> 32 == TALECHAIN_CONTEXT_TASK ? e->pid : 0);
	case TALECHAIN_STACK:
		return kernel_owner_of(
		    owners, (uint32_t)(e->arg[0] << 10 >> 42));
	case TALECHAIN_THREAD:
		return kernel_owner_of(owners, (uint32_t)e->arg[1]);
	case TALECHAIN_SCHEDULE:
		return owner_of_either(
		    owners, (uint32_t)(e->arg[0] >> 32), e->pid);
	case TALECHAIN_TCP_RECV:
	case TALECHAIN_TCP_XMIT:
	case TALECHAIN_TCP_ACK:
	case TALECHAIN_TCP_RETRANSMIT:
		/* The interrupted task is unrelated. */
		return owner_of_ports(owners, e->arg[3]);
	default:
		return kernel_owner_of(owners, e->pid);
	}
}
