/* hsperf_page_open.c: find, check and map a JVM's performance page.
 *
 * The file is /tmp/hsperfdata_<user>/<pid>, with the user's name and the pid
 * that the JVM itself sees; for a JVM in a container both the directory and the
 * pid are its own, so we go through /proc/<pid>/root.  Another user may have
 * made any file in /tmp: it must be a regular file, no link, owned by the
 * process's user, of a sane size, and mapped by the process
 * (hsperf_owner.h). */
#include "profiler/jvm/hsperf_page.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/permission.h"
#include "base/sigbus_guard.h"
#include "base/text.h"
#include "profiler/jvm/hsperf_owner.h"
#include "profiler/processes/proc.h"

/* A longer text of the page is cut (PerfMaxStringConstLength is 1024). */
#define ARGUMENTS_MAX 1023
/* Directories of users searched in a container, at most. */
#define USERS_MAX 64

static const char *const heap_name[PROFILER_HEAP_COUNTERS] = {
#define PROFILER_X(symbol, counter) counter,
    PROFILER_HEAP(PROFILER_X)
#undef PROFILER_X
};

static const char *const rest_name[HSPERF_REST] = {
    "sun.gc.generation.0.space.1.used",
    "sun.gc.generation.0.space.2.used",
    "sun.gc.generation.1.space.0.used",
};

static void
page_name(const struct hsperf_page *p, enum hsperf_counter c,
    const unsigned char *copy, char out[32])
{
	uint32_t n = p->layout.length[c];

	out[0] = '\0';
	if (p->layout.offset[c] == 0)
		return;
	if (n > 31)
		n = 31;
	memcpy(out, copy + p->layout.offset[c], n);
	out[n] = '\0';
}

/* The collector, by the names of its generations or policy. */
static enum collector
page_collector(const struct hsperf_page *p, const unsigned char *copy)
{
	static const struct {
		const char *text;
		enum collector kind;
	} known[] = {
	    {"Serial ", COLLECTOR_SERIAL},
	    {"Copy", COLLECTOR_SERIAL}, /* JDK 8 to 11 say Copy and MSC */
	    {"MSC", COLLECTOR_SERIAL},
	    {"Parallel ", COLLECTOR_PARALLEL},
	    {"PSScavenge", COLLECTOR_PARALLEL},
	    {"PSParallelCompact", COLLECTOR_PARALLEL},
	    {"G1 ", COLLECTOR_G1},
	    {"Z ", COLLECTOR_Z},
	    {"ZGC ", COLLECTOR_Z},
	    {"Shenandoah ", COLLECTOR_SHENANDOAH},
	};
	char name[32];

	for (unsigned i = 0; i < HSPERF_COLLECTORS; i++) {
		page_name(p, HSPERF_OF_COLLECTOR(i, NAME), copy, name);
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (strncmp(name, known[k].text,
				strlen(known[k].text)) == 0)
				return known[k].kind;
	}
	page_name(p, HSPERF_POLICY, copy, name);
	if (strcmp(name, "GarbageFirst") == 0)
		return COLLECTOR_G1;
	if (strncmp(name, "ParScav", 7) == 0)
		return COLLECTOR_PARALLEL;
	if (strncmp(name, "Copy:", 5) == 0)
		return COLLECTOR_SERIAL;
	return COLLECTOR_UNKNOWN;
}

/* G1PeriodicGCInterval in the JVM's arguments; 0: none.  The last one counts,
 * as for the JVM. */
static uint64_t
page_periodic_ms(const struct hsperf_page *p, const unsigned char *copy)
{
	static const char flag[] = "-XX:G1PeriodicGCInterval=";
	const unsigned char *at = copy + p->layout.offset[HSPERF_ARGUMENTS];
	const unsigned char *end = at + p->layout.length[HSPERF_ARGUMENTS];
	uint64_t ms = 0;

	if (p->layout.offset[HSPERF_ARGUMENTS] == 0)
		return 0;
	while (
	    (at = memmem(at, (size_t)(end - at), flag, strlen(flag))) != NULL)
		for (ms = 0, at += strlen(flag);
		     at < end && *at >= '0' && *at <= '9'; at++)
			ms = ms * 10 + (uint64_t)(*at - '0');
	return ms;
}

/* A text of the page; *length gets its length. */
static const char *
page_string(const struct hsperf_page *p, enum hsperf_counter c,
    const unsigned char *copy, size_t *length)
{
	const char *text = (const char *)copy + p->layout.offset[c];

	*length =
	    p->layout.offset[c] != 0 ? strnlen(text, p->layout.length[c]) : 0;
	return text;
}

/* True if a JVM may have options that its arguments and environment do not
 * show, or if these show this flag. */
static bool
options_are_hidden(pid_t pid, const char *flag)
{
	static const char *const file[] = {"cmdline", "environ"};
	char path[40], *word = NULL;
	bool hidden = false;
	size_t size = 0;

	for (int i = 0; i < 2 && !hidden; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file[i]);
		f = fopen(path, "re");
		hidden = f == NULL;
		while (!hidden && getdelim(&word, &size, '\0', f) > 0)
			hidden = strstr(word, flag) != NULL ||
				 strstr(word, "-XX:VMOptionsFile=") != NULL ||
				 strstr(word, "-XX:Flags=") != NULL ||
				 (i == 0 && word[0] == '@') ||
				 (strncmp(word, "JDK_JAVA_OPTIONS=", 17) == 0 &&
				     strchr(word, '@') != NULL);
		if (f != NULL)
			fclose(f);
	}
	free(word);
	return hidden;
}

/* Why the JVM must not get SIGQUIT; NULL: it may.  The page has the JVM's
 * options wherever they were written, but cut at 1024 bytes; while the JVM
 * starts, the page has none. */
static const char *
page_no_attach(
    const struct hsperf_page *p, const unsigned char *copy, pid_t pid)
{
	static const char flag[] = "+DisableAttachMechanism";
	size_t length, flags;
	const char *text = page_string(p, HSPERF_ARGUMENTS, copy, &length);
	const char *more = page_string(p, HSPERF_FLAGS, copy, &flags);

	if (memmem(text, length, flag, strlen(flag)) != NULL ||
	    memmem(more, flags, flag, strlen(flag)) != NULL ||
	    proc_has_argument(pid, "-XX:+DisableAttachMechanism"))
		return "it has -XX:+DisableAttachMechanism";
	if ((length == 0 || length >= ARGUMENTS_MAX) &&
	    options_are_hidden(pid, flag))
		return "it may have -XX:+DisableAttachMechanism, its options "
		       "are not all in its performance page";
	return NULL;
}

static void
page_describe(struct hsperf_page *p, const unsigned char *copy)
{
	char vm[32], version[32];

	page_name(p, HSPERF_VM_NAME, copy, vm);
	page_name(p, HSPERF_JAVA_VERSION, copy, version);
	p->java = (unsigned)atoi(version);
	if (p->java == 1)
		p->java = 8;	     /* "1.8" */
	vm[strcspn(vm, " ")] = '\0'; /* "OpenJDK 64-Bit Server VM" */
	snprintf(p->text, sizeof(p->text), "hsperfdata of %s %s, %s",
	    vm[0] != '\0' ? vm : "a JVM", version[0] != '\0' ? version : "?",
	    collector_name(p->kind));
	if (p->ticks_at == 0 &&
	    (p->kind == COLLECTOR_SERIAL || p->kind == COLLECTOR_PARALLEL))
		text_append(
		    p->text, sizeof(p->text), ", heap by the agent only");
}

void
hsperf_page_trim(struct hsperf_page *p)
{
	for (unsigned i = 0; i < HSPERF_COUNTER_COUNT; i++)
		if ((size_t)p->layout.offset[i] + p->layout.length[i] + 24 >
		    p->bytes)
			p->layout.offset[i] = 0;
}

static int
page_parse(struct hsperf_page *p, int fd, char *why)
{
	unsigned char *copy = malloc(p->bytes);
	ssize_t n;
	int err;

	if (copy == NULL)
		return -ENOMEM;
	n = pread(fd, copy, p->bytes, 0);
	if (n != (ssize_t)p->bytes) {
		snprintf(why, PAGE_TEXT, "hsperfdata file is being changed");
		err = -EAGAIN;
		goto out;
	}
	err = hsperf_parse(&p->layout, copy, p->bytes);
	if (err == -EAGAIN)
		snprintf(why, PAGE_TEXT, "the JVM is still starting");
	else if (err < 0)
		snprintf(why, PAGE_TEXT, "hsperfdata file is %s",
		    err == -EBADMSG ? "damaged" : "not of version 2");
	if (err < 0)
		goto out;
	hsperf_page_trim(p);
	p->classes_at = hsperf_find(copy, p->bytes, "java.cls.loadedClasses");
	p->compiled_at = hsperf_find(copy, p->bytes, "sun.ci.standardCompiles");
	for (unsigned i = 0; i < PROFILER_HEAP_COUNTERS; i++)
		p->heap_at[i] = hsperf_find(copy, p->bytes, heap_name[i]);
	p->ticks_at = hsperf_find(copy, p->bytes, "sun.os.hrt.ticks");
	for (unsigned i = 0; i < HSPERF_REST; i++)
		p->rest_at[i] = hsperf_find(copy, p->bytes, rest_name[i]);
	p->survivors_at =
	    hsperf_find(copy, p->bytes, "sun.gc.generation.0.space.2.capacity");
	p->kind = page_collector(p, copy);
	p->periodic_ms = page_periodic_ms(p, copy);
	p->no_attach = page_no_attach(p, copy, p->pid);
	page_describe(p, copy);
out:
	free(copy);
	return err;
}

static int
page_check(const struct stat *st, uid_t owner, char *why)
{
	if (!S_ISREG(st->st_mode) || st->st_uid != owner) {
		snprintf(why, PAGE_TEXT,
		    "hsperfdata file is not a plain file of its JVM's user");
		return -EACCES;
	}
	if (st->st_size == 0) {
		snprintf(why, PAGE_TEXT, "the JVM is still starting");
		return -EAGAIN;
	}
	if (st->st_size < HSPERF_BYTES_MIN || st->st_size > HSPERF_BYTES_MAX) {
		snprintf(why, PAGE_TEXT, "hsperfdata file of absurd size");
		return -EPROTO;
	}
	return 0;
}

int
hsperf_page_open_fd(
    struct hsperf_page **out, int fd, uid_t owner, pid_t pid, char *why)
{
	struct hsperf_page *p;
	struct stat st;
	uint64_t frequency;
	void *map;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	err = page_check(&st, owner, why);
	if (err < 0)
		return err;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->bytes = (size_t)st.st_size;
	p->pid = pid;
	p->vm.fd = -1;
	err = page_parse(p, fd, why);
	if (err < 0)
		goto fail;
	map = mmap(NULL, p->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		goto fail;
	}
	p->map = map;
	err = sigbus_guard(map, p->bytes, &p->dead);
	if (err < 0)
		goto fail_map;
	frequency =
	    p->layout.offset[HSPERF_FREQUENCY] == 0
		? 0
		: *(const uint64_t *)(const void
			  *)(p->map + p->layout.offset[HSPERF_FREQUENCY]);
	pause_init(&p->pause, p->kind, frequency);
	*out = p;
	return 0;

fail_map:
	munmap(map, p->bytes);
fail:
	free(p);
	return err;
}

void
hsperf_page_free(struct hsperf_page **pp)
{
	struct hsperf_page *p = *pp;
	void *map;

	*pp = NULL;
	if (p == NULL)
		return;
	vm_thread_close(&p->vm);
	sigbus_unguard(p->map);
	memcpy(&map, &p->map, sizeof(map)); /* const only to ourselves */
	munmap(map, p->bytes);
	free(p);
}

/* Returns 0 if a file is the page of the process; -ESTALE: it is another one's;
 * or another negative errno.  What is no plain file passes: page_check refuses
 * that. */
static int
file_check(int fd, pid_t pid)
{
	struct stat st;
	void *map;
	int own;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	own = hsperf_is_own(pid, map);
	munmap(map, 1);
	return own > 0 ? 0 : own < 0 ? own : -ESTALE;
}

static int
file_open(const char *path, pid_t pid)
{
	int fd = open(
	    path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int err = fd < 0 ? -errno : file_check(fd, pid);

	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Search the page in the directories of all users: in a container, the user may
 * have another name.  Returns a descriptor or a negative errno. */
static int
file_search(const char *tmp, pid_t inner, pid_t pid)
{
	char path[512];
	struct dirent *e;
	unsigned seen = 0;
	int fd = -ENOENT, tried;
	int folder = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = folder < 0 ? NULL : fdopendir(folder);

	if (d == NULL) {
		fd = -errno;
		if (folder >= 0)
			close(folder);
		return fd;
	}
	while (fd < 0 && seen < USERS_MAX && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, "hsperfdata_", 11) != 0)
			continue;
		seen++;
		snprintf(path, sizeof(path), "%s/%.200s/%d", tmp, e->d_name,
		    (int)inner);
		tried = file_open(path, pid);
		if (tried != -ENOENT)
			fd = tried;
	}
	closedir(d);
	return fd;
}

static int
file_find(pid_t pid, uid_t uid)
{
	char user[PROC_USER_BYTES], tmp[64], path[256];
	pid_t inner = proc_inner_pid(pid);
	int fd;

	proc_user_name(uid, user);
	snprintf(tmp, sizeof(tmp), "/proc/%d/root/tmp", (int)pid);
	snprintf(
	    path, sizeof(path), "%s/hsperfdata_%s/%d", tmp, user, (int)inner);
	fd = file_open(path, pid);
	if (fd == -ENOENT || fd == -ESTALE)
		fd = file_search(tmp, inner, pid);
	return fd;
}

static void
page_explain(int err, pid_t pid, uid_t uid, char *why)
{
	char user[PROC_USER_BYTES], remedy[PAGE_TEXT];
	struct permission permission;

	if (err == -EACCES || err == -EPERM) {
		proc_user_name(uid, user);
		permission_read(&permission);
		snprintf(why, PAGE_TEXT, "hsperfdata belongs to user %s: %s",
		    user,
		    permission_remedy_user(&permission, user,
			PERMISSION_SYS_PTRACE | PERMISSION_DAC_READ_SEARCH,
			remedy, sizeof(remedy)));
	} else if (proc_maps(pid, "/hsperfdata_", true)) {
		snprintf(why, PAGE_TEXT,
		    "its hsperfdata file was deleted (a cleaner of /tmp?): "
		    "restart it, or load the agent");
	} else if (err == -ESTALE) {
		snprintf(why, PAGE_TEXT,
		    "the hsperfdata file of its number is another JVM's: give "
		    "it a /tmp of its own, or load the agent");
	} else if (proc_maps(pid, "libjvm.so", false)) {
		snprintf(why, PAGE_TEXT,
		    "a JVM without hsperfdata: drop -XX:-UsePerfData and "
		    "-XX:+PerfDisableSharedMem, or load the agent");
	} else {
		snprintf(why, PAGE_TEXT,
		    "not a HotSpot JVM, or one that Tailor may not read");
	}
}

/* Follow the VM thread, if all pauses begin on it: with concurrent collectors
 * they need not. */
static void
page_follow(struct hsperf_page *p)
{
	if (!collector_stops_world(p->kind) ||
	    p->layout.offset[HSPERF_SAFEPOINTS] == 0 ||
	    vm_thread_open(&p->vm, p->pid) < 0)
		text_append(p->text, sizeof(p->text), ", polled");
}

int
hsperf_page_open(struct hsperf_page **out, pid_t pid, char *why)
{
	uid_t uid;
	int fd, err;

	snprintf(why, PAGE_TEXT, "no such process");
	err = proc_uid(pid, &uid);
	if (err < 0)
		return err;
	fd = file_find(pid, uid);
	if (fd < 0) {
		page_explain(fd, pid, uid, why);
		return fd == -EPERM ? -EACCES : fd;
	}
	err = hsperf_page_open_fd(out, fd, uid, pid, why);
	if (err == 0)
		page_follow(*out);
	/* A native image may have a page, too. */
	if (err == 0 && !proc_maps(pid, "libjvm.so", false))
		(*out)->no_attach = "it is not HotSpot (no libjvm.so)";
	close(fd);
	return err;
}
