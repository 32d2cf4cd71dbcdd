/*
 * Goal: the table of runtimes recognises what it names and nothing else, and
 * each collection that a real Node or CPython counts itself becomes one hazard.
 */
#include "fixture.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/permission.h"
#include "profiler/runtimes/probes.h"

#define NOBODY 65534
#define COLLECTIONS 20

/* --- the table ------------------------------------------------------------ */

TEST(test_table)
{
	static const struct {
		const char *file, *runtime; /* NULL: none */
	} cases[] = {
	    {"/usr/lib/jvm/java-17/lib/server/libjvm.so", "HotSpot"},
	    {"/usr/bin/node", "V8"},
	    {"/proc/17/root/usr/local/bin/node", "V8"},
	    {"/usr/bin/nodejs", "V8"},
	    {"/usr/lib/x86_64-linux-gnu/libnode.so.108", "V8"},
	    {"/usr/bin/python3", "CPython"},
	    {"/usr/bin/python3.11", "CPython"},
	    {"/usr/lib/libpython3.12.so.1.0", "CPython"},
	    {"/usr/sbin/nginx", NULL},
	    {"/usr/bin/nodeenv", NULL},
	    {"/opt/node/bin/npm", NULL},
	    {"/usr/bin/python2.7", NULL},
	    {"/usr/lib/libjvm.so.debug", NULL},
	    {"/node/", NULL},
	    {"", NULL},
	};
	const struct runtime *r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = runtime_of_file(cases[i].file);
		if (cases[i].runtime == NULL)
			assert_null(r);
		else if (r == NULL || strcmp(r->name, cases[i].runtime) != 0)
			fail_msg("%s is not recognised", cases[i].file);
	}
}

/* Goal: a runtime is recognised though an upgrade has replaced its file, and
 * what is there now is not probed in its place. */
TEST(test_replaced_file)
{
	char directory[] = "/tmp/tailor-lib-XXXXXX", path[64], file[PATH_MAX];
	const struct runtime *runtime;
	void *map;
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/libjvm.so", directory);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_int_equal(ftruncate(fd, 4096), 0);
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED);
	runtime = runtime_of_process(getpid(), file);
	assert_non_null(runtime);
	assert_non_null(strstr(file, path));
	unlink(path);
	assert_ptr_equal(runtime_of_process(getpid(), file), runtime);
	assert_string_equal(file, "");
	munmap(map, 4096);
	close(fd);
	rmdir(directory);
}

/* Goal: this process has no runtime; one that does not exist neither. */
TEST(test_no_runtime)
{
	char file[PATH_MAX];

	assert_null(runtime_of_process(getpid(), file));
	assert_null(runtime_of_process(INT_MAX, file));
	assert_null(runtime_of_program("/bin/sh", file));
	assert_null(runtime_of_program("no-such-program-at-all", file));
}

/* --- symbols -------------------------------------------------------------- */

/* A function with a name of its own in this program's file. */
__attribute__((noinline, used)) void test_runtimes_landmark(void);
void
test_runtimes_landmark(void)
{
	__asm__ volatile("");
}

/* Where an address of this process lies in its file. */
static uint64_t
file_offset_of(const void *address)
{
	uint64_t begin, end, offset, at = (uint64_t)(uintptr_t)address;
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t found = 0;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) ==
			3 &&
		    at >= begin && at < end)
			found = at - begin + offset;
	fclose(f);
	return found;
}

/* Goal: a function is found by the beginning of its name, where the kernel
 * maps it. */
TEST(test_symbol)
{
	uint64_t offset = 0;

	assert_int_equal(
	    symbol_find("/proc/self/exe", "test_runtimes_land", &offset), 0);
	assert_int_equal(offset,
	    file_offset_of((const void *)(uintptr_t)test_runtimes_landmark));
	assert_int_equal(symbol_find("/proc/self/exe",
			     "test_runtimes_landmarks_more", &offset),
	    -ENOENT);
	assert_int_equal(
	    symbol_find("/no/such/file", "main", &offset), -ENOENT);
	assert_int_equal(
	    symbol_find("/proc/self/maps", "main", &offset), -EINVAL);
	assert_true(symbol_find("/tmp", "main", &offset) < 0);
}

/* Goal: a file that is cut short, or whose numbers are wild, is refused. */
TEST(test_broken_file)
{
	static unsigned char text[1 << 16];
	char path[] = "/tmp/tailor-elf-XXXXXX";
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = mkstemp(path);
	ssize_t n = read(exe, text, sizeof(text));
	uint64_t offset = 0;

	assert_true(fd >= 0 && n == (ssize_t)sizeof(text));
	close(exe);
	for (unsigned cut = 0; cut < 4096; cut += 61) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, text, cut, 0), cut);
		assert_true(symbol_find(path, "main", &offset) < 0);
	}
	/* Sections are said to lie in what there is; their content is code. */
	for (unsigned at = 0; at + 8 < 4096; at += 64) {
		memcpy(&text[40], &(uint64_t){at}, 8); /* e_shoff */
		assert_int_equal(
		    pwrite(fd, text, sizeof(text), 0), sizeof(text));
		assert_true(symbol_find(path, "no_such_symbol", &offset) < 0);
	}
	close(fd);
	unlink(path);
}

/* A file of holes with so many tables of symbols, all in the same place, and
 * notes. */
static void
hollow_file(int fd, unsigned tables, uint64_t bytes, uint64_t notes)
{
	Elf64_Ehdr head = {.e_ident = ELFMAG,
	    .e_shoff = sizeof(head),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = (Elf64_Half)(tables + 2)};
	Elf64_Shdr section = {.sh_type = SHT_NOTE, .sh_size = notes};
	off_t at = (off_t)(sizeof(head) + sizeof(section)); /* after none */

	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, (off_t)256 << 20), 0);
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(
	    pwrite(fd, &section, sizeof(section), at), sizeof(section));
	section = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
	    .sh_offset = 1 << 20,
	    .sh_size = bytes - bytes % sizeof(Elf64_Sym),
	    .sh_entsize = sizeof(Elf64_Sym),
	    .sh_link = 2};
	for (unsigned i = 0; i < tables; i++) {
		at += (off_t)sizeof(section);
		assert_int_equal(
		    pwrite(fd, &section, sizeof(section), at), sizeof(section));
	}
}

/* Goal: what is read of a file is bounded in all, not for each part; it is not
 * waited for what is no file. */
TEST(test_hollow_file)
{
	const uint64_t mib = 1 << 20;
	char path[] = "/tmp/tailor-elf-XXXXXX";
	int fd = mkstemp(path);
	uint64_t offset = 0;

	assert_true(fd >= 0);
	hollow_file(fd, 3, 20 * mib, 0); /* twice: symbols and their names */
	assert_int_equal(symbol_find(path, "main", &offset), -ENOENT);
	assert_int_equal(symbol_file_check(path), 0);
	hollow_file(fd, 4, 20 * mib, 0);
	assert_int_equal(symbol_find(path, "main", &offset), -EINVAL);
	hollow_file(fd, 1, 20 * mib, 5 * mib);
	assert_int_equal(symbol_file_check(path), -EINVAL);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(symbol_find(path, "main", &offset), -EINVAL);
	unlink(path);
}

/* --- permission ----------------------------------------------------------- */

/* Goal: without the capabilities the reason and what is missing are named. */
TEST(test_refused)
{
	char why[PROBES_WHY] = "";
	struct probes *p = NULL;
	int status;
	pid_t pid;

	if (getuid() != 0)
		unit_skip("only root can give up what is needed");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		_exit(probes_new(&p, 1, why) < 0 && p == NULL &&
			      strstr(why, "CAP_BPF") != NULL
			  ? 0
			  : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- real runtimes -------------------------------------------------------- */

/* A program that collects when a line comes, and answers with its own count of
 * collections and their milliseconds. */
struct program {
	pid_t pid;
	FILE *in, *out;
};

static const char *const node_argv[] = {"node", "--expose-gc", "-e",
    "const {PerformanceObserver} = require('perf_hooks');"
    "let n = 0, ms = 0;"
    "new PerformanceObserver(l => { for (const e of l.getEntries())"
    "  { n++; ms += e.duration; } }).observe({entryTypes: ['gc']});"
    "const kept = Array.from({length: 200000}, (_, i) => ({i}));"
    "require('readline').createInterface({input: process.stdin})"
    "  .on('line', line => { for (let i = 0; i < +line; i++) gc();"
    "    setTimeout(() => console.log(n, ms), 100); });"
    "console.log('ready', kept.length);",
    NULL};

static const char *const python_argv[] = {"/usr/bin/python3", "-c",
    "import gc, sys, time\n"
    "n = 0; ms = 0.0; began = 0.0\n"
    "def note(phase, info):\n"
    "    global n, ms, began\n"
    "    if info['generation'] < 2: return\n"
    "    if phase == 'start': began = time.monotonic(); return\n"
    "    n += 1; ms += 1000 * (time.monotonic() - began)\n"
    "gc.callbacks.append(note)\n"
    "kept = [[i] for i in range(100000)]\n"
    "print('ready', flush=True)\n"
    "for line in sys.stdin:\n"
    "    for i in range(int(line)): gc.collect()\n"
    "    print(n, ms, flush=True)\n",
    NULL};

static void
program_start(struct program *p, const char *const argv[])
{
	char line[64];

	fixture_spawn(argv, &p->pid, &p->in, &p->out);
	if (fgets(line, sizeof(line), p->out) == NULL)
		fail_msg("%s does not run", argv[0]);
}

static void
program_collect(
    struct program *p, unsigned times, unsigned *count, double *length_ms)
{
	char line[64] = "";

	fprintf(p->in, "%u\n", times);
	fflush(p->in);
	assert_non_null(fgets(line, sizeof(line), p->out));
	assert_int_equal(sscanf(line, "%u %lf", count, length_ms), 2);
}

static void
program_stop(struct program *p)
{
	fclose(p->in);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	fclose(p->out);
}

/* The collections in the stream so far: how long they were in all, ms. */
static double
lengths_ms(const struct fixture *f, unsigned cause)
{
	double sum_ms = 0;

	for (unsigned i = 0; i < f->slots; i++) {
		const struct talechain_event *e = &f->slot[i].event;

		if (e->type != TALECHAIN_JVM_GC_END)
			continue;
		assert_int_equal(e->arg[0], cause);
		sum_ms += (double)e->arg[2] / 1e6;
	}
	return sum_ms;
}

/* Start a program, and a profiler that finds its collections: by the table
 * alone, or by the named file. */
static struct fixture *
followed(struct program *p, const char *const argv[], const char *program)
{
	struct fixture *f = fixture_new();

	f->options.server[0].probes =
	    program != NULL ? PROFILER_PROBES_ON : PROFILER_PROBES_AUTO;
	f->options.server[0].program = program;
	program_start(p, argv);
	fixture_follow(f, p->pid);
	return f;
}

static void
need_probes(void)
{
	struct permission permission;

	permission_read(&permission);
	if (!permission_to_trace(&permission))
		unit_skip("BPF is not permitted");
}

static void
need_node(void)
{
	if (system("node --version > /dev/null 2>&1") != 0)
		unit_skip("no node in $PATH");
}

static void
unfollow(struct fixture *f, struct program *p)
{
	program_stop(p);
	fixture_end_exit(f);
	fixture_free(f);
}

/*
 * Follow a program, by the table alone or by its file.  Of collections at the
 * edges of the interval one side may count one more.
 */
static void
follow(const char *const argv[], const char *program, unsigned cause,
    const char *name)
{
	double before_ms, after_ms, seen_ms;
	unsigned before, after, first;
	struct profiler_stats s;
	struct fixture *f;
	struct program p;

	need_probes();
	f = followed(&p, argv, program);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PROBES);
	profiler_stats(f->profiler, &s);
	assert_non_null(strstr(s.server[0].detail, name));
	program_collect(&p, 0, &before, &before_ms);
	fixture_wait_sweeps(f);
	fixture_drain(f);
	first = fixture_count(f, HAZARD_GC, true);
	seen_ms = -lengths_ms(f, cause);
	program_collect(&p, COLLECTIONS, &after, &after_ms);
	fixture_wait_hazards(f, HAZARD_GC, false, first + after - before - 1);
	fixture_wait_sweeps(f);
	fixture_drain(f);
	seen_ms += lengths_ms(f, cause);
	assert_true(after - before >= COLLECTIONS);
	assert_in_range(fixture_count(f, HAZARD_GC, true) - first,
	    after - before - 1, after - before + 1);
	/* Ours enclose its own; what is preempted between is ours alone. */
	assert_true(seen_ms > 0.9 * (after_ms - before_ms));
	unfollow(f, &p);
}

/* Whether a program is there, and text is in its file. */
static bool
program_has(const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	size_t length = strlen(text), at = 0;
	int c = 0;

	while (f != NULL && at < length && (c = getc(f)) != EOF)
		at = c == text[at] ? at + 1 : c == text[0];
	if (f != NULL)
		fclose(f);
	return at == length;
}

/* Goal: Node's collections, counted as perf_hooks counts them. */
TEST(test_node)
{
	need_node();
	follow(node_argv, NULL, TALECHAIN_CAUSE_V8, "V8");
}

/* Goal: the time in which V8 marks its old generation in steps. */
TEST(test_node_marking)
{
	static const char *const argv[] = {"node", "-e",
	    "let kept = [], n = 0;"
	    "const step = () => {"
	    "  for (let i = 0; i < 20000; i++) kept.push({i, of: [i]});"
	    "  if (kept.length > 400000) kept = [];"
	    "  if (++n < 200) setImmediate(step); else console.log(n, 0);"
	    "};"
	    "require('readline').createInterface({input: process.stdin})"
	    "  .on('line', step);"
	    "console.log('ready');",
	    NULL};
	struct fixture *f;
	struct program p;
	double none_ms;
	unsigned steps;

	need_probes();
	need_node();
	f = followed(&p, argv, NULL);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PROBES);
	program_collect(&p, 1, &steps, &none_ms);
	fixture_wait_hazards(f, HAZARD_MARKING, false, 1);
	unfollow(f, &p);
}

/* Goal: CPython's whole collections, as gc.callbacks counts them. */
TEST(test_python)
{
	if (!program_has("/usr/bin/python3", "gc__start"))
		unit_skip("/usr/bin/python3 has no probes");
	follow(python_argv, "/usr/bin/python3", TALECHAIN_CAUSE_CPYTHON,
	    "CPython");
}

/* Goal: auto leaves CPython alone: every Python here would pay for it. */
TEST(test_not_asked)
{
	struct profiler_stats s;
	struct fixture *f;
	double length_ms;
	unsigned count;
	struct program p;

	if (access("/usr/bin/python3", X_OK) < 0)
		unit_skip("no /usr/bin/python3");
	f = followed(&p, python_argv, NULL);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	program_collect(&p, 1, &count, &length_ms);
	fixture_wait_sweeps(f);
	fixture_drain(f);
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.server[0].source, PROFILER_SOURCE_PIDFD);
	assert_int_equal(fixture_count(f, HAZARD_GC, true), 0);
	unfollow(f, &p);
}

/* What a runtime's functions at which collections begin and end stand for. */
__attribute__((noinline, used)) void test_runtimes_begins(void);
__attribute__((noinline, used)) void test_runtimes_ends(void);
void
test_runtimes_begins(void)
{
	__asm__ volatile("");
}
void
test_runtimes_ends(void)
{
	__asm__ volatile("");
}

/* A process that begins (b) or ends (e) a collection as it is told. */
struct collector {
	pid_t pid;
	int order, done;
};

static struct collector
collector_start(void)
{
	int order[2], done[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(order), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid != 0) {
		close(order[0]);
		close(done[1]);
		return (struct collector){pid, order[1], done[0]};
	}
	close(order[1]);
	while (read(order[0], &c, 1) == 1) {
		if (c == 'b')
			test_runtimes_begins();
		else
			test_runtimes_ends();
		if (write(done[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

static void
collector_do(const struct collector *k, char order)
{
	char c;

	assert_int_equal(write(k->order, &order, 1), 1);
	assert_int_equal(read(k->done, &c, 1), 1);
}

static void
collector_stop(const struct collector *k)
{
	close(k->order);
	close(k->done);
	kill(k->pid, SIGKILL);
	assert_int_equal(waitpid(k->pid, NULL, 0), k->pid);
}

/* The ends of collections that the channel has had since the last call. */
static unsigned
ends_since(const struct channel *c, uint64_t *taken)
{
	const struct talechain_event *e;
	unsigned ends = 0;

	for (; *taken < c->memory->head; (*taken)++) {
		e = (const void *)((const char *)c->memory +
				   TALECHAIN_HEADER_BYTES +
				   *taken * TALECHAIN_SLOT_BYTES);
		ends += e->type == TALECHAIN_JVM_GC_END;
	}
	return ends;
}

/* Goal: a collection in which a process was killed, or was watched no longer,
 * does not end with the next one that is seen. */
TEST(test_begin_of_another)
{
	static const struct runtime own = {.name = "own",
	    .file = {"*"},
	    .probe = {{"on_v8_begin", NULL, "test_runtimes_begins"},
		{"on_v8_end", NULL, "test_runtimes_ends"}}};
	struct collector first, second;
	char why[PROBES_WHY] = "";
	struct probes *p = NULL;
	const struct channel *c;
	uint64_t taken = 0;

	if (probes_new(&p, 1, why) < 0)
		unit_skip("%s", why);
	if (probes_attach(p, &own, "/proc/self/exe", why) < 0) {
		probes_free(&p);
		unit_skip("%s", why);
	}
	c = probes_channel(p, 0);
	first = collector_start();
	second = collector_start();
	probes_watch(p, 0, first.pid);
	collector_do(&first, 'b');
	collector_do(&first, 'e');
	assert_int_equal(ends_since(c, &taken), 1);
	collector_do(&first, 'b');
	probes_watch(p, 0, second.pid);
	collector_do(&second, 'e');
	assert_int_equal(ends_since(c, &taken), 0);
	collector_do(&second, 'b');
	probes_watch(p, 0, 0);
	probes_watch(p, 0, second.pid);
	collector_do(&second, 'e');
	assert_int_equal(ends_since(c, &taken), 0);
	collector_do(&second, 'b');
	collector_do(&second, 'e');
	assert_int_equal(ends_since(c, &taken), 1);
	collector_stop(&first);
	collector_stop(&second);
	probes_free(&p);
}

/* Goal: a program without the symbols is followed without its collections. */
TEST(test_stripped)
{
	char directory[] = "/tmp/tailor-runtime-XXXXXX", path[64];
	char why[PROBES_WHY] = "", command[160];
	struct probes *p = NULL;
	int err;

	if (probes_new(&p, 1, why) < 0)
		unit_skip("%s", why);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/node", directory);
	snprintf(command, sizeof(command), "cp /bin/true %s", path);
	assert_int_equal(system(command), 0);
	err = probes_attach(p, runtime_of_file(path), path, why);
	assert_int_equal(err, -ENOENT);
	assert_non_null(strstr(why, "has no symbol"));
	assert_non_null(strstr(why, path));
	unlink(path);
	assert_true(probes_attach(p, runtime_of_file(path), path, why) < 0);
	rmdir(directory);
	probes_free(&p);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return unit_run(NULL, NULL);
}
