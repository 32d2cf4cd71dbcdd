#include "profiler/jvm/usdt.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/permission.h"

#define PROBES 5

static const struct {
	const char *program, *provider, *name;
} probes[PROBES] = {
    {"on_operation", "hotspot", "vmops__begin"},
    {"on_gc_begin", "hotspot", "gc__begin"},
    {"on_gc_end", "hotspot", "gc__end"},
    {"on_safepoint_begin", "hs_private", "safepoint__begin"},
    {"on_safepoint_end", "hs_private", "safepoint__end"},
};

struct usdt {
	struct bpf_object *object;		     /* owned */
	struct bpf_link *link[USDT_SERVERS][PROBES]; /* owned */
	char path[USDT_SERVERS][PATH_MAX];	     /* attached to */
	unsigned paths;
	struct usdt_watch *watch;	       /* owned mapping */
	struct talechain_channel *memory;      /* the first channel: owned */
	struct channel *channel[USDT_SERVERS]; /* owned */
};

/* The object, made from usdt.bpf.c at build time. */
EMBED(usdt_object, "usdt.bpf");

static int
complain(int err, char *why)
{
	struct permission permission;

	permission_read(&permission);
	if (err == -EPERM || !permission_to_trace(&permission))
		permission_why(&permission, why, USDT_WHY);
	else
		snprintf(
		    why, USDT_WHY, "this kernel refuses: %s", strerror(-err));
	return err;
}

static int
usdt_make_channels(struct usdt *u, uint32_t first_number)
{
	struct channel_place place = {
	    .fd = bpf_object__find_map_fd_by_name(u->object, "channels"),
	    .bytes = talechain_bytes(USDT_SLOT_LOG2),
	    .slot_log2 = USDT_SLOT_LOG2,
	    .kind = TALECHAIN_KIND_JVM,
	};
	unsigned i;
	int err;

	for (i = 0; i < USDT_SERVERS; i++) {
		place.offset = (off_t)(i * place.bytes);
		snprintf(place.name, sizeof(place.name), "usdt%u", i);
		err = channel_new_kernel(
		    &u->channel[i], first_number + i, &place, NULL);
		if (err < 0)
			return err;
		/* No server's until usdt_watch. */
		u->channel[i]->server = -1;
	}
	return 0;
}

int
usdt_new(struct usdt **out, uint32_t first_number, char *why)
{
	struct usdt *u = calloc(1, sizeof(*u));
	struct bpf_map *map;
	void *at;
	int err;

	*out = NULL;
	if (u == NULL)
		return complain(-ENOMEM, why);
	libbpf_set_print(NULL);
	u->object = bpf_object__open_mem(
	    usdt_object, (size_t)(usdt_object_end - usdt_object), NULL);
	if (u->object == NULL) {
		err = -errno;
		goto fail;
	}
	err = bpf_object__load(u->object);
	if (err < 0)
		goto fail;
	map = bpf_object__find_map_by_name(u->object, ".data.watch");
	at = map == NULL ? MAP_FAILED
			 : mmap(NULL, sizeof(*u->watch), PROT_READ | PROT_WRITE,
			       MAP_SHARED, bpf_map__fd(map), 0);
	if (at == MAP_FAILED) {
		err = -ENOTSUP;
		goto fail;
	}
	u->watch = at;
	at = mmap(NULL, USDT_SERVERS * talechain_bytes(USDT_SLOT_LOG2),
	    PROT_READ | PROT_WRITE, MAP_SHARED,
	    bpf_object__find_map_fd_by_name(u->object, "channels"), 0);
	if (at == MAP_FAILED) {
		err = -errno;
		goto fail;
	}
	u->memory = at;
	err = usdt_make_channels(u, first_number);
	if (err < 0)
		goto fail;
	*out = u;
	return 0;

fail:
	usdt_free(&u);
	return complain(err, why);
}

void
usdt_free(struct usdt **up)
{
	struct usdt *u = *up;
	unsigned i, k;

	*up = NULL;
	if (u == NULL)
		return;
	for (i = 0; i < USDT_SERVERS; i++)
		for (k = 0; k < PROBES; k++)
			bpf_link__destroy(u->link[i][k]);
	for (i = 0; i < USDT_SERVERS; i++)
		channel_free(&u->channel[i]);
	if (u->watch != NULL)
		munmap(u->watch, sizeof(*u->watch));
	if (u->memory != NULL)
		munmap(
		    u->memory, USDT_SERVERS * talechain_bytes(USDT_SLOT_LOG2));
	bpf_object__close(u->object);
	free(u);
}

int
usdt_attach(struct usdt *u, const char *libjvm, char *why)
{
	struct bpf_program *program;
	unsigned i;
	int err;

	for (i = 0; i < u->paths; i++)
		if (strcmp(u->path[i], libjvm) == 0)
			return 0;
	assert(u->paths < USDT_SERVERS);
	for (i = 0; i < PROBES; i++) {
		program = bpf_object__find_program_by_name(
		    u->object, probes[i].program);
		u->link[u->paths][i] = bpf_program__attach_usdt(program, -1,
		    libjvm, probes[i].provider, probes[i].name, NULL);
		if (u->link[u->paths][i] != NULL)
			continue;
		err = -errno;
		snprintf(why, USDT_WHY, "%.150s: no probe %s:%s (%s)", libjvm,
		    probes[i].provider, probes[i].name, strerror(-err));
		while (i-- > 0) {
			bpf_link__destroy(u->link[u->paths][i]);
			u->link[u->paths][i] = NULL;
		}
		return err;
	}
	snprintf(u->path[u->paths++], PATH_MAX, "%s", libjvm);
	return 0;
}

/* The path of a program: itself, or found in $PATH.  NULL: none. */
static char *
program_find(const char *name)
{
	char try[PATH_MAX];
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/') != NULL)
		return realpath(name, NULL);
	for (; path != NULL && *path != '\0'; path = end + (*end == ':')) {
		end = path + strcspn(path, ":");
		if (snprintf(try, sizeof(try), "%.*s/%s", (int)(end - path),
			path, name) < (int)sizeof(try) &&
		    access(try, X_OK) == 0)
			return realpath(try, NULL);
	}
	return NULL;
}

int
usdt_find(char *out, size_t size, const char *java, char *why)
{
	char *file = program_find(java), *slash;
	int n = -1;

	if (file == NULL) {
		snprintf(why, USDT_WHY, "no program %.100s", java);
		return -ENOENT;
	}
	/* .../bin/java -> .../lib/server/libjvm.so */
	slash = strrchr(file, '/');
	*slash = '\0';
	slash = strrchr(file, '/');
	if (slash != NULL) {
		*slash = '\0';
		n = snprintf(out, size, "%s/lib/server/libjvm.so", file);
	}
	free(file);
	if (n > 0 && (size_t)n < size && access(out, R_OK) == 0)
		return 0;
	snprintf(why, USDT_WHY,
	    "no libjvm.so beside %.80s: set servers[].jvm to "
	    "usdt:/path/libjvm.so",
	    java);
	return -ENOENT;
}

struct channel *
usdt_channel(const struct usdt *u, unsigned server)
{
	return u->channel[server];
}

void
usdt_watch(struct usdt *u, unsigned server, pid_t pid)
{
	struct talechain_channel *c;
	uint64_t state;

	assert(server < USDT_SERVERS);
	c = (struct talechain_channel *)(void *)((char *)u->memory +
						 server * talechain_bytes(
							      USDT_SLOT_LOG2));
	/* The old JVM may have died in a collection: reset the state. */
	__atomic_store_n(&u->watch->tgid[server], 0, __ATOMIC_SEQ_CST);
	state = __atomic_load_n(&c->state, __ATOMIC_RELAXED);
	if ((state & 0xff) != TALECHAIN_JVM_RUNNING)
		__atomic_store_n(&c->state,
		    ((state >> 8) + 1) << 8 | TALECHAIN_JVM_RUNNING,
		    __ATOMIC_RELEASE);
	__atomic_store_n(
	    &u->watch->tgid[server], (uint32_t)pid, __ATOMIC_RELEASE);
	__atomic_store_n(&u->channel[server]->server,
	    pid != 0 ? (int)server : -1, __ATOMIC_RELAXED);
}
