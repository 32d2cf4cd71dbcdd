/* programs.c: the table of programs; selecting and loading them.
 *
 * An object loads as a whole or not at all, so what this kernel lacks must be
 * left out beforehand.  Most of it is visible in the kernel's type information:
 * a tracepoint is there as a type btf_trace_NAME.  If loading still fails, each
 * signal is tried alone and those that fail are left out. */
#include "profiler/kernel/programs.h"

#include <bpf/btf.h>
#include <stdarg.h>

#include "base/embed.h"
#include "base/file.h"

/* clang-format off */
#define ON(program, target, signal)					\
	{program, target, PROGRAM_TRACEPOINT, PROFILER_SIGNAL_##signal, true, \
	    false, false}
#define OFTEN(program, target, signal)					\
	{program, target, PROGRAM_TRACEPOINT, PROFILER_SIGNAL_##signal, true, \
	    true, false}
/* The same, but stays attached if there are sums. */
#define SUMMED(program, target, signal)					\
	{program, target, PROGRAM_TRACEPOINT, PROFILER_SIGNAL_##signal, true, \
	    true, true}
#define BESIDE(program, target, signal)					\
	{program, target, PROGRAM_TRACEPOINT, PROFILER_SIGNAL_##signal, false, \
	    false, false}
/* clang-format on */

/* In the order of attaching.  A program that clears a mark comes before the one
 * that sets it.  Otherwise an interrupt in between leaves the mark set until
 * the next one ends, and the wake-ups of a task are reported as the
 * interrupt's. */
const struct program programs[] = {
    OFTEN("on_waking", "sched_waking", SCHEDULER),
    OFTEN("on_wakeup", "sched_wakeup", SCHEDULER),
    ON("on_wakeup_new", "sched_wakeup_new", SCHEDULER),
    OFTEN("on_switch", "sched_switch", SCHEDULER),
    BESIDE("on_rename", "task_rename", SCHEDULER),
    ON("on_fork", "sched_process_fork", PROCESS),
    ON("on_exec", "sched_process_exec", PROCESS),
    ON("on_exit", "sched_process_exit", PROCESS),
    {"on_softirq_raise", "softirq_raise", PROGRAM_TRACEPOINT,
	PROFILER_SIGNAL_SOFTIRQ, false, true, false},
    SUMMED("on_softirq_exit", "softirq_exit", SOFTIRQ),
    SUMMED("on_softirq_entry", "softirq_entry", SOFTIRQ),
    ON("on_irq_handler_exit", "irq_handler_exit", INTERRUPT),
    ON("on_irq_handler_entry", "irq_handler_entry", INTERRUPT),
    BESIDE("on_timer_exit", "local_timer_exit", INTERRUPT),
    BESIDE("on_timer_entry", "local_timer_entry", INTERRUPT),
    BESIDE("on_call_function_exit", "call_function_exit", INTERRUPT),
    BESIDE("on_call_function_entry", "call_function_entry", INTERRUPT),
    BESIDE(
	"on_call_function_single_exit", "call_function_single_exit", INTERRUPT),
    BESIDE("on_call_function_single_entry", "call_function_single_entry",
	INTERRUPT),
    BESIDE("on_irq_work_exit", "irq_work_exit", INTERRUPT),
    BESIDE("on_irq_work_entry", "irq_work_entry", INTERRUPT),
    BESIDE("on_ipi_exit", "ipi_exit", INTERRUPT),
    BESIDE("on_ipi_entry", "ipi_entry", INTERRUPT),
    OFTEN("on_tcp_probe", "tcp_probe", TCP),
    OFTEN("on_dev_queue", "net_dev_queue", TCP),
    BESIDE("on_retransmit", "tcp_retransmit_skb", TCP),
    BESIDE("on_state", "inet_sock_set_state", TCP),
    OFTEN("on_send", "sock_send_length", SOCKET),
    OFTEN("on_recv", "sock_recv_length", SOCKET),
    SUMMED("on_fault_user", "page_fault_user", PAGEFAULT),
    SUMMED("on_fault_kernel", "page_fault_kernel", PAGEFAULT),
    {"on_page_alloc", "mm_page_alloc", PROGRAM_TRACEPOINT,
	PROFILER_SIGNAL_PAGEFAULT, false, true, false},
    {"on_fault_minor", NULL, PROGRAM_FAULT_MINOR, PROFILER_SIGNAL_PAGEFAULT,
	true, false, false},
    {"on_fault_major", NULL, PROGRAM_FAULT_MAJOR, PROFILER_SIGNAL_PAGEFAULT,
	true, false, false},
    BESIDE("on_group_reclaim_end", "mm_vmscan_memcg_reclaim_end", RECLAIM),
    BESIDE("on_group_reclaim", "mm_vmscan_memcg_reclaim_begin", RECLAIM),
    ON("on_direct_reclaim_end", "mm_vmscan_direct_reclaim_end", RECLAIM),
    ON("on_direct_reclaim", "mm_vmscan_direct_reclaim_begin", RECLAIM),
    BESIDE("on_compaction_end", "mm_compaction_end", RECLAIM),
    BESIDE("on_compaction", "mm_compaction_begin", RECLAIM),
    ON("on_idle", "cpu_idle", IDLE),
    ON("on_call", "sys_enter", SYSCALL),
    ON("on_call_end", "sys_exit", SYSCALL),
    ON("sum_waking", "sched_waking", SUMS),
    BESIDE("sum_wakeup_new", "sched_wakeup_new", SUMS),
    ON("sum_switch", "sched_switch", SUMS),
    ON("sum_send", "sock_send_length", SUMS),
    ON("sum_recv", "sock_recv_length", SUMS),
};
const unsigned programs_count = sizeof(programs) / sizeof(programs[0]);

_Static_assert(
    sizeof(programs) / sizeof(programs[0]) <= PROGRAMS_MAX, "links are");

#define PROCESS_NUMBERS (1U << 22) /* the kernel's PID_MAX_LIMIT */

/* The object, made from *.bpf.c at build time. */
EMBED(kernel_object, "kernel.bpf");

/* The first error message of the library since the last load began. */
static char complaint[160];

static int
on_library_message(
    enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && complaint[0] == '\0') {
		vsnprintf(complaint, sizeof(complaint), format, args);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

void
signal_off(struct profiler_signal_state *state, const char *format, ...)
{
	va_list args;

	if (!state->on)
		return;
	state->on = false;
	va_start(args, format);
	vsnprintf(state->why, sizeof(state->why), format, args);
	va_end(args);
}

/* True if the kernel has a tracepoint; arguments: how many it has. */
static bool
tracepoint_exists(const struct btf *btf, const char *name, unsigned *arguments)
{
	const struct btf_type *t;
	char type[64];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return false;
	/* typedef -> pointer -> function, whose first argument is hidden */
	t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);
	t = t == NULL ? NULL : btf__type_by_id(btf, t->type);
	if (arguments != NULL)
		*arguments =
		    t == NULL || btf_vlen(t) == 0 ? 0 : btf_vlen(t) - 1;
	return true;
}

/* True if the kernel has maps that store data with a task. */
static bool
task_storage_exists(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "bpf_map_type", BTF_KIND_ENUM);
	const struct btf_type *t =
	    id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (unsigned i = 0; t != NULL && i < btf_vlen(t); i++)
		if (btf_enum(t)[i].val == BPF_MAP_TYPE_TASK_STORAGE)
			return true;
	return false;
}

/* Before loading, switch off signals whose parts this kernel lacks.  Returns 0,
 * or -ENOTSUP if none is left. */
static int
programs_judge(const struct btf *btf, struct kernel_config *config,
    bool *present, struct profiler_signal_state *state)
{
	unsigned arguments = 0;

	for (unsigned i = 0; i < programs_count; i++) {
		const struct program *p = &programs[i];

		present[i] = p->target == NULL ||
			     tracepoint_exists(btf, p->target, NULL);
		if (!present[i] && p->needed)
			signal_off(&state[p->signal],
			    "this kernel has no tracepoint %s", p->target);
	}
	if (state[PROFILER_SIGNAL_SUMS].on && !task_storage_exists(btf))
		signal_off(&state[PROFILER_SIGNAL_SUMS],
		    "this kernel keeps nothing with its tasks (before 5.11)");
	if (!state[PROFILER_SIGNAL_SUMS].on)
		config->sums = 0;
	if (tracepoint_exists(btf, "sched_switch", &arguments))
		config->state_given = arguments >= 4;
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
		if (state[i].on)
			return 0;
	return -ENOTSUP;
}

/* Enough for every number that a process may have. */
unsigned
programs_process_pages(void)
{
	char line[32];
	uint64_t max = 0;

	if (file_read_line(line, sizeof(line), "/proc/sys/kernel/pid_max"))
		max = strtoull(line, NULL, 10);
	if (max == 0 || max > PROCESS_NUMBERS)
		max = PROCESS_NUMBERS;
	return (unsigned)((max + KERNEL_PAGE - 1) / KERNEL_PAGE);
}

size_t
programs_channel_bytes(unsigned slot_log2)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (talechain_bytes(slot_log2) + page - 1) / page * page;
}

/* Fit an object to this machine: set its constants and the sizes of maps. */
static int
object_fit(struct bpf_object *object, const struct kernel_config *config,
    const struct kernel_options *options, unsigned cpus)
{
	struct bpf_map *map;
	int err;

	map = bpf_object__find_map_by_name(object, ".rodata.config");
	if (map == NULL)
		return -EINVAL;
	err = bpf_map__set_initial_value(map, config, sizeof(*config));
	if (err < 0)
		return err;
	map = bpf_object__find_map_by_name(object, "processes");
	if (map == NULL)
		return -EINVAL;
	err = bpf_map__set_max_entries(map, programs_process_pages());
	if (err < 0)
		return err;
	map = bpf_object__find_map_by_name(object, "channels");
	if (map == NULL)
		return -EINVAL;
	err = bpf_map__set_max_entries(map, cpus);
	if (err < 0)
		return err;
	err = bpf_map__set_value_size(
	    map, (__u32)programs_channel_bytes(options->slot_log2));
	if (err < 0)
		return err;
	map = bpf_object__find_map_by_name(object, "stirs");
	if (map == NULL)
		return -EINVAL;
	err = bpf_map__set_max_entries(map, (__u32)sysconf(_SC_PAGESIZE));
	if (err < 0 || config->sums != 0)
		return err;
	/* Older kernels cannot make the map of epochs. */
	map = bpf_object__find_map_by_name(object, "epochs");
	return map == NULL ? -EINVAL : bpf_map__set_autocreate(map, false);
}

struct load_request {
	const struct kernel_config *config;
	const struct kernel_options *options;
	unsigned cpus;
	const bool *present;
	const struct profiler_signal_state *state;
	int only; /* only this signal; -1: all that are on */
};

static int
object_load(struct bpf_object **out, const struct load_request *w)
{
	struct bpf_object *object;
	int err;

	complaint[0] = '\0';
	object = bpf_object__open_mem(
	    kernel_object, (size_t)(kernel_object_end - kernel_object), NULL);
	if (object == NULL)
		return -errno;
	err = object_fit(object, w->config, w->options, w->cpus);
	for (unsigned i = 0; err == 0 && i < programs_count; i++) {
		const struct program *p = &programs[i];
		struct bpf_program *program =
		    bpf_object__find_program_by_name(object, p->name);
		bool on = w->present[i] && w->state[p->signal].on &&
			  (w->only < 0 || w->only == (int)p->signal);

		err = program == NULL ? -EINVAL
				      : bpf_program__set_autoload(program, on);
	}
	if (err == 0)
		err = bpf_object__load(object);
	if (err < 0) {
		bpf_object__close(object);
		return err;
	}
	*out = object;
	return 0;
}

/* Loading failed: try each signal alone, leave out those that fail. */
static void
programs_try_each(struct load_request *w, struct profiler_signal_state *state)
{
	struct bpf_object *object = NULL;
	int err;

	for (int i = 0; i < (int)PROFILER_SIGNALS; i++) {
		if (!state[i].on)
			continue;
		w->only = i;
		err = object_load(&object, w);
		if (err == 0)
			bpf_object__close(object);
		else
			signal_off(&state[i], "this kernel refuses it: %s (%s)",
			    strerror(-err), complaint);
	}
	w->only = -1;
}

int
programs_load(struct bpf_object **out, struct kernel_config *config,
    const struct kernel_options *options, unsigned cpus,
    struct profiler_signal_state *state)
{
	bool present[PROGRAMS_MAX];
	struct load_request w = {.config = config,
	    .options = options,
	    .cpus = cpus,
	    .present = present,
	    .state = state,
	    .only = -1};
	struct btf *btf;
	int err;

	libbpf_set_print(on_library_message);
	btf = btf__load_vmlinux_btf();
	if (btf == NULL) {
		err = -errno;
		for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
			signal_off(&state[i],
			    "this kernel has no type information "
			    "(CONFIG_DEBUG_INFO_BTF)");
		return err == -ENOMEM ? err : -ENOTSUP;
	}
	err = programs_judge(btf, config, present, state);
	btf__free(btf);
	if (err < 0)
		return err;
	err = object_load(out, &w);
	if (err == 0 || err == -EPERM) /* EPERM: no program may be loaded */
		return err;
	programs_try_each(&w, state);
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
		if (state[i].on)
			return object_load(out, &w);
	return err;
}
