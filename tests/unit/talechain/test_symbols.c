/*
 * Goal: addresses of a process get the names of its functions, of files, of
 * generated code and of the kernel; never one that is not theirs.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "talechain/tale/tale_struct.h"
#include "talechain/symbols/sources.h"
#include "talechain/symbols/symbols.h"

static volatile unsigned sink;

static __attribute__((noinline)) void
a_function_of_this_test_with_a_name_that_needs_three_pieces(void)
{
	for (unsigned i = 0; i < 100; i++)
		sink += i;
}

/* A tale with one stack of this process's, or the kernel's. */
static void
tale_init(struct tale *t, enum talechain_stack kind, uint64_t innermost,
    uint64_t caller)
{
	struct tale_entry *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	*t = (struct tale){
	    .entry = e, .entries = 1, .capacity = 1, .end = instant_now()};
	e->at = t->end;
	e->slot.event.type = TALECHAIN_STACK;
	e->slot.event.arg[0] = (uint64_t)kind << 60 |
			       (uint64_t)(uint32_t)getpid() << 32 |
			       (uint32_t)getpid();
	e->slot.event.arg[1] = innermost;
	e->slot.event.arg[2] = caller;
}

/* The name that was added for an address, or "". */
static const char *
name_in(const struct tale *t, uint64_t address)
{
	static char name[80];
	const struct talechain_event *v;

	memset(name, 0, sizeof(name));
	for (size_t i = 1; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		assert_int_equal(v->type, TALECHAIN_SYMBOL);
		assert_true(t->entry[i].at.ns >= t->entry[i - 1].at.ns);
		if (v->arg[0] << 7 == address << 7)
			memcpy(name + (v->arg[0] >> 57) * 24, &v->arg[1], 24);
	}
	return name;
}

/* The name that an address gets, as the innermost one. */
static void
check(struct symbols *s, enum talechain_stack kind, uint64_t address,
    const char *expected)
{
	struct tale t;

	/* The second time it is remembered. */
	for (unsigned i = 0; i < 2; i++) {
		tale_init(&t, kind, address, 0);
		symbols_name(s, &t, false);
		assert_string_equal(name_in(&t, address), expected);
		free(t.entry);
	}
}

static uint64_t
address_of(void (*function)(void))
{
	return (uint64_t)(uintptr_t)function;
}

TEST(test_files)
{
	uint64_t own = address_of(
	    a_function_of_this_test_with_a_name_that_needs_three_pieces);
	struct symbols *s;
	struct tale t;

	a_function_of_this_test_with_a_name_that_needs_three_pieces();
	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	check(s, TALECHAIN_STACK_RAN, own,
	    "a_function_of_this_test_with_a_name_that_needs_three_pieces");
	check(s, TALECHAIN_STACK_RAN, own + 4,
	    "a_function_of_this_test_with_a_name_that_needs_three_pieces");
	/* Of another file, exported. */
	check(
	    s, TALECHAIN_STACK_RAN, address_of((void (*)(void))abort), "abort");
	/* A return address behind a call at a function's end is that one's. */
	tale_init(&t, TALECHAIN_STACK_WAITED, 0, own);
	symbols_name(s, &t, false);
	assert_string_not_equal(name_in(&t, own),
	    "a_function_of_this_test_with_a_name_that_needs_three_pieces");
	free(t.entry);
	/* What no file has. */
	check(s, TALECHAIN_STACK_RAN, 0x1000, "");
	symbols_free(&s);
	assert_null(s);
}

/* Goal: a tale gets no more entries than its reader accepts. */
TEST(test_full)
{
	uint64_t own = address_of(
	    a_function_of_this_test_with_a_name_that_needs_three_pieces);
	struct symbols *s;
	struct tale t;

	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	tale_init(&t, TALECHAIN_STACK_RAN, own, 0);
	t.entry = realloc(t.entry, TALE_ENTRIES_MAX * sizeof(t.entry[0]));
	assert_non_null(t.entry);
	t.entries = t.capacity = TALE_ENTRIES_MAX - 1;
	for (size_t i = 1; i < t.entries; i++)
		t.entry[i] = t.entry[0];
	symbols_name(s, &t, false);
	assert_int_equal(t.entries, TALE_ENTRIES_MAX);
	free(t.entry);
	symbols_free(&s);
}

/* Goal: data of a file is in no function: it has the file's name. */
TEST(test_no_function)
{
	struct symbols *s;

	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	check(s, TALECHAIN_STACK_RAN, (uint64_t)(uintptr_t) "text",
	    "[test_symbols]");
	symbols_free(&s);
}

/* Write this process's map of one piece of code. */
static void
map_write(const char *path, const char *lines, uint64_t code)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, lines, (unsigned long)code, (unsigned long)code);
	assert_int_equal(fclose(f), 0);
}

/* Goal: code of no file has the name that the runtime's map has, and only
 * memory that may be executed is code. */
TEST(test_generated)
{
	uint64_t code, data;
	struct symbols *s;
	char path[64];
	char *at = mmap(NULL, 8192, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	code = (uint64_t)(uintptr_t)at;
	data = code + 4096;
	assert_int_equal(mprotect(at + 4096, 4096, PROT_READ), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map_write(path, "%lx 40 Lorg/A;::b(int)\nnonsense\n%lx 2000", code);
	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	check(s, TALECHAIN_STACK_RAN, code + 0x3f, "Lorg/A;::b(int)");
	check(s, TALECHAIN_STACK_RAN, code + 0x40, "");
	/* It is written anew, and the code is another. */
	map_write(path, "%lx 2000 c\n", code);
	check(s, TALECHAIN_STACK_RAN, code + 0x3f, "c");
	check(s, TALECHAIN_STACK_RAN, data, "");
	unlink(path);
	symbols_free(&s);
	munmap(at, 8192);
}

/* Goal: a map that is a link, another user's, an earlier process's or too large
 * is not read. */
TEST(test_foreign_map)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char path[64], other[64];
	struct symbols *s;
	uint64_t code;
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	code = (uint64_t)(uintptr_t)at;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(other, sizeof(other), "/tmp/perf-%d.other", getpid());
	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	map_write(other, "%lx 40 linked\n", code);
	assert_int_equal(symlink(other, path), 0);
	check(s, TALECHAIN_STACK_RAN, code, "");
	unlink(path);
	assert_int_equal(rename(other, path), 0);
	check(s, TALECHAIN_STACK_RAN, code, "linked");
	assert_int_equal(truncate(path, ((off_t)32 << 20) + 1), 0);
	check(s, TALECHAIN_STACK_RAN, code, "");
	map_write(path, "%lx 40 of an earlier process\n", code);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	check(s, TALECHAIN_STACK_RAN, code, "");
	map_write(path, "%lx 40 own\n", code);
	check(s, TALECHAIN_STACK_RAN, code, "own");
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 1, 1), 0);
		check(s, TALECHAIN_STACK_RAN, code, "");
	}
	unlink(path);
	symbols_free(&s);
	munmap(at, 4096);
}

/* Pretend to be of a runtime: map a file of its name.  *code receives a page of
 * generated code.  Returns the file's page. */
static void *
become(const char *file, uint64_t *code)
{
	char path[64];
	void *at, *mapped;
	int fd;

	snprintf(path, sizeof(path), "/tmp/tailor-run-%d", getpid());
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(strcat(path, "/"), file);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	close(fd);
	unlink(path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(at != MAP_FAILED);
	*code = (uint64_t)(uintptr_t)at;
	return mapped;
}

static int asked_result;
static unsigned asked;

static int
ask(void *user, pid_t pid, struct instant since)
{
	assert_ptr_equal(user, &asked);
	assert_int_equal(pid, getpid());
	assert_true(instant_is_set(since));
	asked++;
	return asked_result;
}

/* Goal: a JVM is told to write a map if a method has no sure name, is waited
 * for, and the command is shown if there is none. */
TEST(test_java_without_map)
{
	const struct symbols_maps maps = {ask, &asked};
	char hint[64];
	struct symbols *s;
	struct tale t;
	uint64_t code;
	void *jvm = become("libjvm.so", &code);

	assert_int_equal(symbols_new(&s, -1, &maps), 0);
	tale_init(
	    &t, TALECHAIN_STACK_RAN, address_of((void (*)(void))abort), 0);
	assert_int_equal(symbols_wait(s, &t), 0);
	assert_int_equal(asked, 0);
	free(t.entry);
	tale_init(&t, TALECHAIN_STACK_RAN, code, 0);
	asked_result = -EAGAIN;
	assert_true(symbols_wait(s, &t) > 0 && symbols_wait(s, &t) > 0);
	asked_result = -EACCES;
	assert_int_equal(symbols_wait(s, &t), 0);
	free(t.entry);
	snprintf(hint, sizeof(hint), "? (jcmd %d Compiler.perfmap)", getpid());
	check(s, TALECHAIN_STACK_RAN, code, hint);
	asked_result = -EOPNOTSUPP;
	check(s, TALECHAIN_STACK_RAN, code,
	    "? (Java: JDK 17 and later can name it)");
	symbols_free(&s);
	munmap(jvm, 4096);
}

void _PyEval_EvalFrameDefault(void);

__attribute__((noinline, visibility("hidden"))) void
_PyEval_EvalFrameDefault(void)
{
	sink++;
}

/* Goal: without a map the loop over a Python function has the option that makes
 * one, if there is such an option; Node's code has its own. */
TEST(test_other_runtimes)
{
	uint64_t loop = address_of(_PyEval_EvalFrameDefault), code;
	struct symbols *s;
	void *mapped;

	_PyEval_EvalFrameDefault();
	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	mapped = become("libpython3.11.so.1.0", &code);
	check(s, TALECHAIN_STACK_RAN, loop, "_PyEval_EvalFrameDefault");
	munmap(mapped, 4096);
	symbols_free(&s);
	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	mapped = become("python3.12", &code);
	check(s, TALECHAIN_STACK_RAN, loop,
	    "_PyEval_EvalFrameDefault (python3 -X perf)");
	munmap(mapped, 4096);
	mapped = become("node", &code);
	check(s, TALECHAIN_STACK_RAN, code, "? (node --perf-basic-prof)");
	munmap(mapped, 4096);
	symbols_free(&s);
}

/* Goal: beyond a compiled Java method no frame is shown, as its frame pointer
 * is none; the interpreter has one. */
TEST(test_java_callers)
{
	const uint64_t hidden = 1;
	char path[64], lines[] = "%lx 1000 int A.b()\n%lx 40 Interpreter\n";
	struct symbols *s;
	struct tale t;
	uint64_t code;
	void *jvm = become("libjvm.so", &code);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map_write(path, lines, code);
	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	tale_init(&t, TALECHAIN_STACK_WAITED, code + 0x10, code + 0x800);
	t.entry[0].slot.event.arg[3] = code + 0x900;
	t.entry = realloc(t.entry, 3 * sizeof(t.entry[0]));
	assert_non_null(t.entry);
	t.entry[1] = t.entry[2] = t.entry[0];
	t.entry[1].slot.event.arg[0] |= UINT64_C(3) << 54;
	t.entries = t.capacity = 3;
	/* The same thread's next stack begins with the method. */
	t.entry[2].slot.event.arg[1] = code + 0x800;
	symbols_name(s, &t, false);
	assert_int_equal(t.entry[0].slot.event.arg[2], code + 0x800);
	assert_int_equal(t.entry[0].slot.event.arg[3], hidden);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(t.entry[1].slot.event.arg[i], 0);
	assert_int_equal(t.entry[2].slot.event.arg[1], code + 0x800);
	assert_int_equal(t.entry[2].slot.event.arg[2], hidden);
	assert_int_equal(t.entry[2].slot.event.arg[3], 0);
	free(t.entry);
	symbols_free(&s);
	unlink(path);
	munmap(jvm, 4096);
}

/* The kernel's names as it shows them; to others it shows addresses of 0. */
TEST(test_kernel)
{
	static const char text[] = "ffffffff81000000 T first\n"
				   "ffffffff81000040 d data\n"
				   "ffffffff81000080 t second\t[module]\n"
				   "ffffffff81000100 T third\n";
	static const char hidden[] = "0000000000000000 T first\n";
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct symbols *s;
	struct tale t;

	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(symbols_new(&s, fd, NULL), 0);
	/* Not while a client waits, and not remembered as having none. */
	tale_init(&t, TALECHAIN_STACK_KERNEL, UINT64_C(0xffffffff81000050), 0);
	symbols_name(s, &t, true);
	assert_int_equal(t.entries, 1);
	free(t.entry);
	check(s, TALECHAIN_STACK_KERNEL, UINT64_C(0xffffffff81000050), "first");
	/* Always where it returns to. */
	check(
	    s, TALECHAIN_STACK_KERNEL, UINT64_C(0xffffffff81000100), "second");
	check(s, TALECHAIN_STACK_KERNEL, UINT64_C(0xffffffff81000101), "third");
	symbols_free(&s);
	fd = memfd_create("kallsyms", MFD_CLOEXEC);
	assert_int_equal(
	    write(fd, hidden, sizeof(hidden) - 1), sizeof(hidden) - 1);
	assert_int_equal(symbols_new(&s, fd, NULL), 0);
	check(s, TALECHAIN_STACK_KERNEL, UINT64_C(0xffffffff81000050), "");
	symbols_free(&s);
}

/* Goal: a process that began after the request is another one. */
TEST(test_other_process)
{
	struct symbols *s;
	struct tale t;

	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	tale_init(
	    &t, TALECHAIN_STACK_RAN, address_of((void (*)(void))abort), 0);
	t.end.ns = 1;
	symbols_name(s, &t, false);
	assert_int_equal(t.entries, 1);
	free(t.entry);
	symbols_free(&s);
}

/* What Go's linker writes into a program: this one pretends. */
static const struct {
	uint32_t name_bytes, text_bytes, type;
	char name[4], text[4];
} go_note __attribute__((used, aligned(4), section(".note.go.buildid"))) = {
    4, 4, 4, "Go", "id"};

/* A tale of a thread of that process. */
static void
runtime_is(struct symbols *s, pid_t pid, int attempt, const char *expected)
{
	struct tale t;

	for (unsigned i = 0; i < 2; i++) {
		tale_init(&t, TALECHAIN_STACK_RAN, 0, 0);
		t.thread[0] = t.thread[1] =
		    (struct tale_thread){(uint32_t)pid, (uint32_t)pid, attempt};
		t.threads = 2;
		symbols_name(s, &t, false);
		assert_int_equal(t.entries, expected[0] != '\0' ? 2 : 1);
		assert_string_equal(name_in(&t, 0), expected);
		free(t.entry);
	}
}

/* Which program a process runs. */
static void
exe_read(const char *pid, char link[PATH_MAX])
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	n = readlink(path, link, PATH_MAX - 1);
	link[n > 0 ? n : 0] = '\0';
	assert_true(n > 0);
}

/* Goal: a server's program that Go linked is known for one, no other. */
TEST(test_runtime)
{
	char own[PATH_MAX], link[PATH_MAX], number[16];
	struct symbols *s;
	int pipes[2];
	pid_t pid;

	assert_int_equal(symbols_new(&s, -1, NULL), 0);
	runtime_is(s, getpid(), 0, "Go");
	runtime_is(s, getpid(), -1, "");
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[0], 0);
		execl("/bin/cat", "cat", NULL);
		_exit(1);
	}
	close(pipes[0]);
	exe_read("self", own);
	snprintf(number, sizeof(number), "%d", pid);
	do {
		exe_read(number, link);
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		sched_yield();
	} while (strcmp(link, own) == 0);
	runtime_is(s, pid, 0, "");
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	symbols_free(&s);
}

static void
write_at(int fd, uint64_t at, const void *what, size_t n)
{
	assert_int_equal(pwrite(fd, what, n, (off_t)at), n);
}

/* A file of holes: so many tables of symbols in one place, and a last one that
 * names address 0x1000. */
static void
hollow_file(int fd, unsigned tables, uint64_t bytes)
{
	static const char names[] = "\0hidden";
	const uint64_t last = UINT64_C(256) << 20;
	Elf64_Ehdr head = {.e_ident = ELFMAG,
	    .e_type = ET_DYN,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(head),
	    .e_shoff = sizeof(head),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = (Elf64_Half)(tables + 3)};
	Elf64_Shdr section[16] = {[1] = {.sh_type = SHT_STRTAB,
				      .sh_offset = 4096,
				      .sh_size = sizeof(names)}};
	Elf64_Sym symbol = {.st_name = 1,
	    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
	    .st_value = 0x1000,
	    .st_size = 16};

	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	assert_true(tables + 3 <= 16);
	for (unsigned i = 0; i <= tables; i++)
		section[2 + i] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
		    .sh_offset = i == tables ? last : 1 << 20,
		    .sh_size = bytes,
		    .sh_entsize = sizeof(symbol),
		    .sh_link = 1};
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, (off_t)512 << 20), 0);
	write_at(fd, 0, &head, sizeof(head));
	write_at(fd, sizeof(head), section, sizeof(section));
	write_at(fd, 4096, names, sizeof(names));
	write_at(fd, last, &symbol, sizeof(symbol));
}

/* Goal: what is read of a file is bounded in all: its tables may lie in one
 * place, and be holes. */
TEST(test_hollow_file)
{
	const uint64_t bytes =
	    (UINT64_C(24) << 20) / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
	char path[] = "/tmp/tailor-elf-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	for (unsigned tables = 3; tables <= 6; tables += 3) {
		struct symbol one = {.at = 0x1008}, *of[] = {&one};

		hollow_file(fd, tables, bytes);
		symbols_of_file(fd, of, 1);
		assert_string_equal(one.name, tables == 3 ? "hidden" : "");
	}
	close(fd);
}
