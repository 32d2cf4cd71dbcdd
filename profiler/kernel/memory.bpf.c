/* memory.bpf.c: the memory that all programs share, and their license.
 *
 * Memory that the loader maps has a section, and so a map, of its own. */
#include "profiler/kernel/emit.bpf.h"
#include "profiler/kernel/stack.bpf.h"
#include "profiler/kernel/sums.bpf.h"

char kernel_license[] SEC("license") = "Dual BSD/GPL";

const volatile struct kernel_config config SEC(".rodata.config") = {0};
struct kernel_watch watch SEC(".data.watch") = {0};
struct kernel_gate gate SEC(".data.gate") = {0};
struct kernel_tally tally SEC(".data.tally") = {0};
struct cpu cpus[KERNEL_CPUS] SEC(".bss.cpus");
struct channels channels SEC(".maps");
struct stirs stirs SEC(".maps");
struct threads threads SEC(".maps");
struct processes processes SEC(".maps");
struct epoch_storage epochs SEC(".maps");
struct stacks stacks SEC(".maps");
