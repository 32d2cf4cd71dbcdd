#include "profiler/kernel/kernel.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>

#include "base/file.h"
#include "base/permission.h"
#include "profiler/kernel/programs.h"
#include "profiler/processes/proc.h"
#include "profiler/kernel/sampling.h"

#define PARK_AGAIN_NS (50 * NS_PER_MS)
/* Programs are attached again PARK_SPARE_NS before a pause ends; they stay
 * attached if less than PARK_LEAST_NS of it is left. */
#define PARK_SPARE_NS (50 * NS_PER_MS)
#define PARK_LEAST_NS (300 * NS_PER_MS)

enum phase {
	PHASE_RUNS,
	PHASE_PAUSED, /* paused until until_ns */
	PHASE_PARKED, /* paused, and the attach thread has detached programs */
};

struct kernel {
	struct bpf_object *object; /* owned */
	/* owned: one for each program; two for each CPU for faults */
	struct bpf_link *link[PROGRAMS_MAX];
	struct bpf_link *fault[2][KERNEL_CPUS];
	struct kernel_watch *watch; /* owned mapping */
	uint8_t *mark;		    /* owned mapping */
	size_t marks;
	const struct kernel_tally *tally; /* owned mapping */
	struct kernel_gate *gate;	  /* owned mapping */
	/* Owned mappings of a page: bytes of stirs taken; written. */
	uint64_t *stirs_taken;
	const uint64_t *stirs;
	int stirs_fd;		  /* borrowed from the object */
	struct sampling sampling; /* the observer's */
	bool samples, sums;	  /* constant */
	/* Pauses; shared by observer and attach thread: atomic. */
	uint32_t phase; /* enum phase */
	uint64_t until_ns;
	/* The attach thread's. */
	bool parks, tried;
	bool apart[PROGRAMS_MAX]; /* detached for the pause */
	struct kernel_owners owners;
	uint64_t missed; /* relaxed atomic */
	unsigned cpus;
	struct channel *channel[KERNEL_CPUS]; /* owned */
};

_Static_assert(KERNEL_SERVERS == PROFILER_SERVERS &&
		   KERNEL_PROCESSES == PROFILER_PROCESSES,
    "each has its places");

/* --- permission --------------------------------------------------------- */

static int
signals_off(struct profiler_signal_state *state, int err, const char *why)
{
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
		signal_off(&state[i], "%s", why);
	return err;
}

static bool
wants_sums(const struct kernel_options *options)
{
	return options->sums || options->profile == PROFILER_KERNEL_SUMS;
}

/* Assume all signals of the profile; later steps switch off what fails. */
static void
signals_want(
    struct profiler_signal_state *state, const struct kernel_options *options)
{
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
		state[i] = (struct profiler_signal_state){.on = true};
	if (!options->syscalls)
		signal_off(&state[PROFILER_SIGNAL_SYSCALL],
		    "not configured: needs profiler.kernel=all");
	if (options->profile != PROFILER_KERNEL_FULL)
		signal_off(&state[PROFILER_SIGNAL_IDLE],
		    "not configured: needs profiler.kernel=full");
	if (!wants_sums(options))
		signal_off(&state[PROFILER_SIGNAL_SUMS],
		    "not configured: needs profiler.kernel=sums");
}

/* Switch all signals off, because of missing permission.  Returns -EPERM. */
static int
kernel_refused(struct profiler_signal_state *state, const struct permission *p)
{
	char why[sizeof(state->why)];

	return signals_off(state, -EPERM, permission_why(p, why, sizeof(why)));
}

static int
kernel_permitted(
    struct profiler_signal_state *state, const struct permission *p)
{
	if (!permission_to_trace(p))
		return kernel_refused(state, p);
	if (p->container)
		return signals_off(state, -ENOTSUP,
		    "tailor runs in its own pid namespace: its pids differ "
		    "from the kernel's");
	return 0;
}

/* --- memory --------------------------------------------------------------- */

/* Map the two positions of the ring of stirs, each in a page of its own. */
static int
kernel_map_stirs(struct kernel *k)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *taken, *written;

	k->stirs_fd = bpf_object__find_map_fd_by_name(k->object, "stirs");
	taken = mmap(
	    NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, k->stirs_fd, 0);
	if (taken == MAP_FAILED)
		return -errno;
	k->stirs_taken = taken;
	written =
	    mmap(NULL, page, PROT_READ, MAP_SHARED, k->stirs_fd, (off_t)page);
	if (written == MAP_FAILED)
		return -errno;
	k->stirs = written;
	return 0;
}

/* Map a section of the object. */
static void *
kernel_map(struct kernel *k, const char *name, size_t bytes, int protection)
{
	struct bpf_map *map = bpf_object__find_map_by_name(k->object, name);
	void *p;

	if (map == NULL)
		return NULL;
	p = mmap(NULL, bytes, protection, MAP_SHARED, bpf_map__fd(map), 0);
	return p == MAP_FAILED ? NULL : p;
}

static int
kernel_make_channels(struct kernel *k, const struct kernel_options *o)
{
	int map = bpf_object__find_map_fd_by_name(k->object, "channels");
	size_t bytes = programs_channel_bytes(o->slot_log2);
	struct channel_place place = {.fd = map,
	    .bytes = bytes,
	    .is = {.slot_log2 = o->slot_log2, .kind = TALECHAIN_KIND_KERNEL}};
	int err;

	for (unsigned i = 0; i < k->cpus; i++) {
		place.offset = (off_t)(i * bytes);
		snprintf(place.is.name, sizeof(place.is.name), "cpu%u", i);
		err = channel_new_kernel(
		    &k->channel[i], o->first_number + i, &place, &k->owners);
		if (err < 0)
			return err;
		k->channel[i]->cpu = (int)i;
	}
	/* From now on only the programs write the map. */
	bpf_map_freeze(map);
	return 0;
}

/* --- attaching ------------------------------------------------------------ */

static int
kernel_attach_faults(struct kernel *k, struct bpf_program *program, bool major)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
	    .type = PERF_TYPE_SOFTWARE,
	    .config = major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ
			    : PERF_COUNT_SW_PAGE_FAULTS_MIN,
	    .sample_period = 1};
	unsigned attached = 0;
	int fd, err = -ENODEV;

	for (unsigned i = 0; i < k->cpus; i++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, i, -1,
		    PERF_FLAG_FD_CLOEXEC);
		if (fd < 0) {
			err = -errno; /* ENODEV: the CPU is offline */
			continue;
		}
		k->fault[major][i] =
		    bpf_program__attach_perf_event(program, fd);
		if (k->fault[major][i] == NULL) {
			err = -errno;
			close(fd);
			continue;
		}
		attached++;
	}
	return attached > 0 ? 0 : err;
}

static int
kernel_attach_one(struct kernel *k, unsigned i)
{
	struct bpf_program *program =
	    bpf_object__find_program_by_name(k->object, programs[i].name);

	switch (programs[i].hook) {
	case PROGRAM_TRACEPOINT:
		k->link[i] = bpf_program__attach(program);
		return k->link[i] == NULL ? -errno : 0;
	case PROGRAM_FAULT_MINOR:
		return kernel_attach_faults(k, program, false);
	case PROGRAM_FAULT_MAJOR:
		return kernel_attach_faults(k, program, true);
	}
	return -EINVAL;
}

static void
kernel_detach(struct kernel *k, unsigned i)
{
	unsigned cpu;

	bpf_link__destroy(k->link[i]);
	k->link[i] = NULL;
	for (cpu = 0; programs[i].target == NULL && cpu < k->cpus; cpu++) {
		bool major = programs[i].hook == PROGRAM_FAULT_MAJOR;

		bpf_link__destroy(k->fault[major][cpu]);
		k->fault[major][cpu] = NULL;
	}
}

static bool
program_loaded(const struct kernel *k, unsigned i)
{
	struct bpf_program *p =
	    bpf_object__find_program_by_name(k->object, programs[i].name);

	return p != NULL && bpf_program__fd(p) >= 0;
}

static int
kernel_attach(struct kernel *k, struct profiler_signal_state *state)
{
	unsigned on = 0;
	int err;

	for (unsigned i = 0; i < programs_count; i++) {
		if (!program_loaded(k, i))
			continue;
		err = kernel_attach_one(k, i);
		if (err < 0 && programs[i].needed)
			signal_off(&state[programs[i].signal],
			    "%s cannot be attached: %s", programs[i].name,
			    strerror(-err));
	}
	for (unsigned i = 0; i < programs_count; i++) {
		if (state[programs[i].signal].on)
			on++;
		else
			kernel_detach(k, i);
	}
	return on > 0 ? 0 : -ENOTSUP;
}

static void
mark_store(struct kernel *k, pid_t pid, unsigned mark)
{
	__atomic_store_n(&k->mark[pid], (uint8_t)mark, __ATOMIC_RELAXED);
}

/* --- the whole ------------------------------------------------------------ */

/* The order of a huge page, 0 if the kernel has none. */
static uint32_t
huge_order(uint64_t page_bytes)
{
	char line[32];
	uint64_t bytes = 0;

	if (!file_read_line(line, sizeof(line),
		"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"))
		return 0;
	bytes = strtoull(line, NULL, 10);
	if (bytes < page_bytes)
		bytes = page_bytes;
	return (uint32_t)__builtin_ctzll(bytes / page_bytes);
}

/* Sums that a CPU may write per second: half of the events that it may write,
 * two for each sum, or KERNEL_SUMS_LEAST.  Long epochs get half as many
 * again. */
static uint32_t
sums_most(const struct kernel *k, const struct kernel_options *o)
{
	struct sampling s;
	double most;

	sampling_init(&s, k->cpus, o->events_per_s, INSTANT_NONE);
	most = s.per_s / (4 * k->cpus);
	return most > KERNEL_SUMS_LEAST ? (uint32_t)most : KERNEL_SUMS_LEAST;
}

static int
kernel_set_up(struct kernel *k, const struct kernel_options *o,
    struct profiler_signal_state *state)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct kernel_config config = {
	    .slot_mask = (UINT64_C(1) << o->slot_log2) - 1,
	    .page_bytes = page,
	    .huge_order = huge_order(page),
	    .full = o->profile == PROFILER_KERNEL_FULL,
	    .stacks = o->stacks,
	    .sums = wants_sums(o) ? sums_most(k, o) : 0,
	};
	int err = programs_load(&k->object, &config, o, k->cpus, state);

	if (err < 0)
		return err;
	k->watch = kernel_map(
	    k, ".data.watch", sizeof(*k->watch), PROT_READ | PROT_WRITE);
	k->tally = kernel_map(k, ".data.tally", sizeof(*k->tally), PROT_READ);
	k->marks = (size_t)programs_process_pages() * KERNEL_PAGE;
	k->mark = kernel_map(k, "processes", k->marks, PROT_READ | PROT_WRITE);
	k->gate = kernel_map(
	    k, ".data.gate", sizeof(*k->gate), PROT_READ | PROT_WRITE);
	if (k->watch == NULL || k->tally == NULL || k->mark == NULL ||
	    k->gate == NULL)
		return -ENOMEM;
	k->owners.mark = k->mark;
	k->owners.marks = k->marks;
	k->owners.member = k->watch->member;
	err = kernel_map_stirs(k);
	if (err == 0)
		err = kernel_make_channels(k, o);
	if (err < 0)
		return err;
	err = kernel_attach(k, state);
	k->sums = state[PROFILER_SIGNAL_SUMS].on;
	return err;
}

int
kernel_new(struct kernel **out, const struct kernel_options *options,
    struct profiler_signal_state *state)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct permission permission;
	struct kernel *k;
	int err;

	*out = NULL;
	signals_want(state, options);
	if (options->slot_log2 < TALECHAIN_SLOT_LOG2_MIN ||
	    options->slot_log2 > TALECHAIN_SLOT_LOG2_MAX)
		return signals_off(state, -EINVAL, "no such number of slots");
	permission_read(&permission);
	err = kernel_permitted(state, &permission);
	if (err < 0)
		return err;
	k = calloc(1, sizeof(*k));
	if (k == NULL)
		return signals_off(state, -ENOMEM, "no memory");
	k->cpus = cpus < 1	       ? 1
		  : cpus > KERNEL_CPUS ? KERNEL_CPUS
				       : (unsigned)cpus;
	err = kernel_set_up(k, options, state);
	if (err < 0) {
		kernel_free(&k);
		return err == -EPERM ? kernel_refused(state, &permission)
				     : signals_off(state, err, strerror(-err));
	}
	/* If the user configured more than the default, never pause. */
	k->samples =
	    options->profile != PROFILER_KERNEL_FULL && !options->syscalls;
	sampling_init(
	    &k->sampling, k->cpus, options->events_per_s, instant_now());
	if ((size_t)getpid() < k->marks)
		mark_store(k, getpid(), KERNEL_MARK_SELF | KERNEL_MARK_ALONE);
	*out = k;
	return 0;
}

void
kernel_free(struct kernel **kp)
{
	struct kernel *k = *kp;

	*kp = NULL;
	if (k == NULL)
		return;
	for (unsigned i = 0; i < programs_count; i++)
		kernel_detach(k, i);
	for (unsigned i = 0; i < k->cpus; i++)
		channel_free(&k->channel[i]);
	if (k->watch != NULL)
		munmap(k->watch, sizeof(*k->watch));
	if (k->mark != NULL)
		munmap(k->mark, k->marks);
	if (k->gate != NULL)
		munmap(k->gate, sizeof(*k->gate));
	if (k->stirs_taken != NULL)
		munmap(k->stirs_taken, (size_t)sysconf(_SC_PAGESIZE));
	if (k->stirs != NULL)
		munmap(
		    (void *)(uintptr_t)k->stirs, (size_t)sysconf(_SC_PAGESIZE));
	if (k->tally != NULL)
		munmap((void *)(uintptr_t)k->tally, sizeof(*k->tally));
	bpf_object__close(k->object);
	free(k);
}

unsigned
kernel_channels(const struct kernel *k)
{
	return k->cpus;
}

struct channel *
kernel_channel(const struct kernel *k, unsigned i)
{
	return k->channel[i];
}

/* --- processes and ports ------------------------------------------------ */

/* In a server's list, replace one process (was) by another (is); 0: a free
 * place.  Returns true if the first one was there. */
static bool
member_replace(struct kernel *k, unsigned server, uint32_t was, uint32_t is)
{
	uint32_t expected;

	for (unsigned i = 0; i < KERNEL_PROCESSES; i++) {
		expected = was;
		/* Acquire, release: the programs do the same. */
		if (__atomic_compare_exchange_n(&k->watch->member[server][i],
			&expected, is, false, __ATOMIC_ACQ_REL,
			__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static bool
has_ended(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

bool
kernel_follows(const struct kernel *k)
{
	for (unsigned i = 0; i < programs_count; i++)
		if (strcmp(programs[i].name, "on_fork") == 0)
			return k->link[i] != NULL;
	return false;
}

bool
kernel_watches(const struct kernel *k, pid_t pid)
{
	uint8_t mark;

	if (pid <= 0 || (size_t)pid >= k->marks)
		return false;
	mark = __atomic_load_n(&k->mark[pid], __ATOMIC_RELAXED);
	return mark != 0 && mark != KERNEL_MARK_PEER;
}

int
kernel_watch(struct kernel *k, unsigned server, pid_t pid, bool alone)
{
	unsigned mark = KERNEL_MARK_SERVER + server;

	assert(server < KERNEL_SERVERS);
	if (pid <= 0 || (size_t)pid >= k->marks)
		return -ERANGE;
	if (kernel_watches(k, pid))
		return 0;
	if (!member_replace(k, server, 0, (uint32_t)pid))
		return -ENOSPC;
	mark_store(k, pid, mark | (alone ? KERNEL_MARK_ALONE : 0));
	return 0;
}

void
kernel_unwatch(struct kernel *k, unsigned server)
{
	uint32_t pid;
	unsigned left = 1;
	bool live = false;

	assert(server < KERNEL_SERVERS);
	/* Repeat while one of them forks: the child may take a place that was
	 * read already. */
	while (left > 0) {
		left = 0;
		for (unsigned i = 0; i < KERNEL_PROCESSES; i++) {
			pid = __atomic_exchange_n(
			    &k->watch->member[server][i], 0, __ATOMIC_ACQ_REL);
			if (pid == 0)
				continue;
			left++;
			/* A process that ends has events still to come. */
			if (proc_is_ending((pid_t)pid))
				continue;
			mark_store(k, (pid_t)pid, 0);
			live = true;
		}
	}
	/* Last: programs may store state of these until they see the mark. */
	if (live)
		__atomic_store_n(
		    &k->gate->unwatched_ns, instant_now().ns, __ATOMIC_RELEASE);
}

unsigned
kernel_members(struct kernel *k, unsigned server, pid_t out[KERNEL_PROCESSES])
{
	unsigned n = 0;
	uint32_t pid;

	assert(server < KERNEL_SERVERS);
	for (unsigned i = 0; i < KERNEL_PROCESSES; i++) {
		pid = __atomic_load_n(
		    &k->watch->member[server][i], __ATOMIC_RELAXED);
		if (pid == 0)
			continue;
		if (has_ended((pid_t)pid))
			member_replace(k, server, pid, 0);
		else
			out[n++] = (pid_t)pid;
	}
	return n;
}

/* Give back a place whose process was left out for a period, or else leave that
 * process out, if no server waited for it in the last one. */
static void
peer_age(struct kernel *k, struct kernel_peer *peer)
{
	uint32_t pid = __atomic_load_n(&peer->pid, __ATOMIC_RELAXED);
	uint8_t mark = KERNEL_MARK_PEER;

	if (pid == 0 || pid >= k->marks)
		return;
	if (__atomic_load_n(&peer->state, __ATOMIC_RELAXED) !=
	    KERNEL_PEER_WATCHED) {
		__atomic_store_n(&peer->since_ns, 0, __ATOMIC_RELAXED);
		__atomic_store_n(
		    &peer->state, KERNEL_PEER_WATCHED, __ATOMIC_RELAXED);
		/* Release: the programs take the place by its number. */
		__atomic_store_n(&peer->pid, 0, __ATOMIC_RELEASE);
		return;
	}
	if (__atomic_exchange_n(&peer->used, 0, __ATOMIC_RELAXED) != 0)
		return;
	__atomic_store_n(&peer->state, KERNEL_PEER_LEFT, __ATOMIC_RELAXED);
	/* A server's process since it became one keeps its mark. */
	__atomic_compare_exchange_n(
	    &k->mark[pid], &mark, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void
kernel_peers_age(struct kernel *k)
{
	for (unsigned i = 0; i < KERNEL_PEERS; i++)
		peer_age(k, &k->watch->peer[i]);
}

void
kernel_watch_port(struct kernel *k, uint16_t port)
{
	if (port != 0)
		__atomic_fetch_or(&k->watch->port[port / 64],
		    UINT64_C(1) << port % 64, __ATOMIC_RELAXED);
}

void
kernel_server_port(struct kernel *k, unsigned server, uint16_t port)
{
	assert(server < KERNEL_SERVERS);
	__atomic_store_n(&k->owners.port[server], port, __ATOMIC_RELAXED);
	kernel_watch_port(k, port);
}

void
kernel_ignore_thread(struct kernel *k, pid_t tid)
{
	__atomic_store_n(&k->watch->ignored, (uint32_t)tid, __ATOMIC_RELAXED);
}

/* --- sampling ------------------------------------------------------------- */

/* Events that the programs have written so far. */
static uint64_t
events_written(const struct kernel *k)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < k->cpus; i++)
		sum += __atomic_load_n(
		    &k->channel[i]->memory->head, __ATOMIC_RELAXED);
	return sum;
}

void
kernel_gate(struct kernel *k, struct instant until)
{
	bool paused = instant_is_set(until);

	/* Store resumed_ns first: programs that run must know which state is
	 * too old. */
	if (!paused)
		__atomic_store_n(
		    &k->gate->resumed_ns, instant_now().ns, __ATOMIC_RELAXED);
	__atomic_store_n(&k->gate->paused, paused, __ATOMIC_RELEASE);
	if (!paused)
		return;
	__atomic_store_n(&k->until_ns, until.ns, __ATOMIC_RELAXED);
	__atomic_store_n(&k->phase, PHASE_PAUSED, __ATOMIC_RELEASE);
}

/* True unless a pause is to end now while its programs are parked. */
static bool
may_resume(struct kernel *k, struct instant now)
{
	uint32_t paused = PHASE_PAUSED;

	return !k->sampling.paused ||
	       instant_before(now, k->sampling.paused_until) ||
	       __atomic_compare_exchange_n(&k->phase, &paused, PHASE_RUNS,
		   false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool
kernel_sample(struct kernel *k, struct instant now, struct kernel_pause *out)
{
	struct sampling *s = &k->sampling;
	enum sampling_step step;

	if (!k->samples || !sampling_due(s, now))
		return false;
	if (may_resume(k, now)) {
		step = sampling_step(s, now, events_written(k));
		if (step == SAMPLING_SAME)
			return false;
		kernel_gate(
		    k, step == SAMPLING_PAUSE ? s->paused_until : INSTANT_NONE);
	} else {
		step = sampling_prolong(s, now);
	}
	*out = (struct kernel_pause){
	    .from = s->paused_from,
	    .until = step == SAMPLING_RESUME ? instant_now() : s->paused_until,
	    .most_per_s = (uint64_t)s->per_s,
	};
	return true;
}

int
kernel_stirs(const struct kernel *k)
{
	return k->stirs_fd;
}

void
kernel_take_stirs(struct kernel *k)
{
	uint64_t written = __atomic_load_n(k->stirs, __ATOMIC_ACQUIRE);

	/* Store, then load: a record that is written meanwhile either finds all
	 * taken, and wakes, or is found here. */
	while (*k->stirs_taken != written) {
		__atomic_store_n(k->stirs_taken, written, __ATOMIC_SEQ_CST);
		written = __atomic_load_n(k->stirs, __ATOMIC_SEQ_CST);
	}
}

bool
kernel_is_paused(const struct kernel *k)
{
	return k->sampling.paused;
}

/* --- parking -------------------------------------------------------------- */

/* Detach the programs that run often, in the reverse order of attaching: the
 * one that sets a mark before the one that clears it. */
static void
park(struct kernel *k)
{
	for (unsigned i = programs_count; i-- > 0;)
		if (programs[i].often && !(k->sums && programs[i].sums) &&
		    k->link[i] != NULL) {
			k->apart[i] = true;
			kernel_detach(k, i);
		}
}

/* Attach the parked programs again.  False: one cannot be attached. */
static bool
unpark(struct kernel *k)
{
	bool all = true;

	for (unsigned i = 0; i < programs_count; i++) {
		if (k->apart[i])
			k->apart[i] = kernel_attach_one(k, i) < 0;
		all &= !k->apart[i];
	}
	return all;
}

/* True if programs can be attached again: a kernel may refuse that, because
 * Tailor has dropped capabilities.  Tried once, with a dispensable program. */
static bool
may_park(struct kernel *k)
{
	for (unsigned i = 0; i < programs_count && !k->tried; i++)
		if (strcmp(programs[i].name, "on_softirq_raise") == 0 &&
		    k->link[i] != NULL) {
			kernel_detach(k, i);
			k->parks = kernel_attach_one(k, i) == 0;
		}
	k->tried = true;
	return k->parks;
}

int64_t
kernel_park(struct kernel *k, struct instant now)
{
	uint32_t phase = __atomic_load_n(&k->phase, __ATOMIC_ACQUIRE);
	uint64_t until_ns = __atomic_load_n(&k->until_ns, __ATOMIC_RELAXED);
	int64_t left_ns = (int64_t)(until_ns - now.ns);

	if (phase == PHASE_PARKED && left_ns <= PARK_SPARE_NS) {
		if (!unpark(k))
			return PARK_AGAIN_NS;
		__atomic_store_n(&k->phase, PHASE_PAUSED, __ATOMIC_RELEASE);
		return -1;
	}
	if (phase == PHASE_PAUSED && left_ns > PARK_LEAST_NS &&
	    (k->parks || !k->tried) && may_park(k) &&
	    __atomic_compare_exchange_n(&k->phase, &phase, PHASE_PARKED, false,
		__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		park(k);
		phase = PHASE_PARKED;
	}
	return phase == PHASE_PARKED ? left_ns - PARK_SPARE_NS : -1;
}

/* --- losses --------------------------------------------------------------- */

void
kernel_count(struct kernel *k)
{
	struct bpf_prog_info info;
	uint64_t missed = 0;
	uint32_t size;

	for (unsigned i = 0; i < programs_count; i++) {
		if (!program_loaded(k, i))
			continue;
		memset(&info, 0, sizeof(info));
		size = sizeof(info);
		if (bpf_obj_get_info_by_fd(
			bpf_program__fd(bpf_object__find_program_by_name(
			    k->object, programs[i].name)),
			&info, &size) == 0)
			missed += info.recursion_misses;
	}
	if (missed > k->missed)
		__atomic_store_n(&k->missed, missed, __ATOMIC_RELAXED);
}

uint64_t
kernel_missed(const struct kernel *k)
{
	return count_read(&k->missed) + count_read(&k->tally->ringless);
}

const struct kernel_tally *
kernel_tally(const struct kernel *k)
{
	return k->tally;
}
