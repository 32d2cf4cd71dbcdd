#include "profiler/processes/finder.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/array.h"
#include "profiler/processes/proc.h"

#define TCP_STATE_LISTEN 0x0a
#define UNIX_FLAG_LISTEN 0x10000u
#define DEPTH_MAX 32 /* ancestors followed, at most */

bool
family_has(const struct family *f, pid_t pid)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->pid[i] == pid)
			return true;
	return false;
}

bool
family_add(struct family *f, pid_t pid)
{
	if (family_has(f, pid))
		return false;
	if (f->count == FAMILY_MAX) {
		f->left_out++;
		return false;
	}
	f->pid[f->count++] = pid;
	return true;
}

/* True if there is a route to an address.  Nothing is sent: connecting a
 * datagram socket only looks up the route. */
static bool
has_route(const struct sockaddr_storage *address, int direct)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool found = fd >= 0 &&
		     setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &direct,
			 sizeof(direct)) == 0 &&
		     connect(fd, (const struct sockaddr *)address,
			 sizeof(struct sockaddr_in)) == 0;

	if (fd >= 0)
		close(fd);
	return found;
}

bool
finder_address_is_routed(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET && has_route(address, 0) &&
	       !has_route(address, 1);
}

void
finder_init(struct finder *f)
{
	memset(f, 0, sizeof(*f));
	f->sockets.uid = (uid_t)-1;
}

void
finder_fini(struct finder *f)
{
	if (f->proc != NULL)
		closedir(f->proc);
	f->proc = NULL;
	free(f->seen);
	f->seen = NULL;
	f->count = f->room = 0;
}

/* --- sockets -------------------------------------------------------------- */

/* Parse an address like "0100007F": each word of it is printed as a number.
 * Returns its bytes; 0: too long. */
static size_t
hex_address(const char *hex, uint8_t out[16])
{
	size_t words = strlen(hex) / 8, i;
	char word[9] = "";
	uint32_t v;

	if (words > 4)
		return 0;
	for (i = 0; i < words; i++) {
		memcpy(word, hex + 8 * i, 8);
		v = (uint32_t)strtoul(word, NULL, 16);
		memcpy(out + 4 * i, &v, 4);
	}
	return 4 * words;
}

static bool
all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Returns 2 if an address is the wanted one, 1 if it is a wildcard that
 * includes that, 0 if neither. */
static int
address_match(
    const uint8_t *have, size_t n, const struct sockaddr_storage *want)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct sockaddr_in *four = (const void *)want;
	const struct sockaddr_in6 *six = (const void *)want;

	if (n == 16 && all_zero(have, 16))
		return 1;
	if (n == 4 && want->ss_family == AF_INET) {
		if (memcmp(have, &four->sin_addr, 4) == 0)
			return 2;
		return all_zero(have, 4);
	}
	if (n == 16 && want->ss_family == AF_INET)
		return memcmp(have, mapped, 12) == 0 &&
			       memcmp(have + 12, &four->sin_addr, 4) == 0
			   ? 2
			   : 0;
	if (n == 16 && want->ss_family == AF_INET6)
		return memcmp(have, &six->sin6_addr, 16) == 0 ? 2 : 0;
	return 0;
}

static uint16_t
address_port(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;

	return ntohs(a->ss_family == AF_INET ? four->sin_port : six->sin6_port);
}

int
finder_match(const char *line, const struct sockaddr_storage *address,
    uint64_t *inode, uid_t *uid)
{
	unsigned port, state, user;
	unsigned long long number;
	uint8_t have[16];
	char hex[33];
	size_t n;

	if (sscanf(line,
		" %*d: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %u "
		"%*d %llu",
		hex, &port, &state, &user, &number) != 5)
		return 0;
	/* The kernel lists all listeners before any connection. */
	if (state != TCP_STATE_LISTEN)
		return -1;
	n = hex_address(hex, have);
	if (port != address_port(address) || number == 0)
		return 0;
	*inode = number;
	*uid = (uid_t)user;
	return address_match(have, n, address);
}

static void
socket_add(struct finder_sockets *s, uint64_t inode, uid_t uid)
{
	if (s->count == FINDER_SOCKETS)
		return;
	s->inode[s->count++] = inode;
	s->uid = uid;
}

/* Open a table of a process's network namespace; 0: of our own. */
static FILE *
table_open(pid_t space, const char *name)
{
	char path[64];

	if (space == 0)
		snprintf(path, sizeof(path), "/proc/net/%s", name);
	else
		snprintf(
		    path, sizeof(path), "/proc/%d/net/%s", (int)space, name);
	return fopen(path, "re");
}

/* Search one table of TCP sockets; true if anything listens there. */
static bool
find_tcp(struct finder_sockets *s, pid_t space, const char *table,
    const struct sockaddr_storage *address)
{
	FILE *file = table_open(space, table);
	uint64_t inode;
	char line[512];
	uid_t uid;
	int best = 0, match = 0;

	if (file == NULL)
		return false;
	while (match >= 0 && fgets(line, sizeof(line), file) != NULL) {
		match = finder_match(line, address, &inode, &uid);
		if (match > best)
			s->count = 0;
		if (match <= 0 || match < best)
			continue;
		best = match;
		socket_add(s, inode, uid);
	}
	fclose(file);
	return best > 0;
}

static bool
find_unix(struct finder_sockets *s, const struct sockaddr_storage *address)
{
	const struct sockaddr_un *want = (const void *)address;
	FILE *file = fopen("/proc/net/unix", "re");
	unsigned long long inode;
	char line[512];
	unsigned flags;
	int path;

	if (file == NULL)
		return false;
	while (s->count == 0 && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		path = 0;
		if (sscanf(line, "%*x: %*x %*x %x %*x %*x %llu %n", &flags,
			&inode, &path) < 2 ||
		    path == 0)
			continue;
		if ((flags & UNIX_FLAG_LISTEN) != 0 &&
		    strcmp(line + path, want->sun_path) == 0)
			socket_add(s, inode, (uid_t)-1);
	}
	fclose(file);
	return s->count > 0;
}

static bool
find_sockets(struct finder_sockets *s, pid_t space,
    const struct sockaddr_storage *address)
{
	*s = (struct finder_sockets){.uid = (uid_t)-1};
	switch (address->ss_family) {
	case AF_INET:
		return find_tcp(s, space, "tcp", address) ||
		       find_tcp(s, space, "tcp6", address);
	case AF_INET6:
		return find_tcp(s, space, "tcp6", address);
	case AF_UNIX:
		return find_unix(s, address);
	default:
		return false;
	}
}

/* --- network namespaces --------------------------------------------------- */

/* True if a namespace has an IPv4 address: its table has "|-- 10.0.0.2", and
 * "/32 host LOCAL" in the next line. */
static bool
space_has_4(pid_t space, const struct sockaddr_in *address)
{
	FILE *file = table_open(space, "fib_trie");
	char line[128], text[INET_ADDRSTRLEN];
	bool here = false, has = false;

	inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
	while (!has && file != NULL && fgets(line, sizeof(line), file)) {
		const char *leaf = strstr(line, "|-- ");

		has = here && strstr(line, "host LOCAL") != NULL;
		line[strcspn(line, "\n")] = '\0';
		here = leaf != NULL && strcmp(leaf + 4, text) == 0;
	}
	if (file != NULL)
		fclose(file);
	return has;
}

/* True if a namespace has an IPv6 address: its table has a line like
 * "fd00...02 02 40 00 80 eth0". */
static bool
space_has_6(pid_t space, const struct sockaddr_in6 *address)
{
	FILE *file = table_open(space, "if_inet6");
	char line[128], text[33];
	bool has = false;

	for (size_t i = 0; i < 16; i++)
		snprintf(
		    text + 2 * i, 3, "%02x", address->sin6_addr.s6_addr[i]);
	while (!has && file != NULL && fgets(line, sizeof(line), file))
		has = strncmp(line, text, 32) == 0;
	if (file != NULL)
		fclose(file);
	return has;
}

static bool
space_has(pid_t space, const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET
		   ? space_has_4(space, (const void *)address)
		   : space_has_6(space, (const void *)address);
}

/* True if an address may be in another network namespace.  Loopback is not:
 * each namespace has its own. */
static bool
is_of_network(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	if (address->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
	return address->ss_family == AF_INET6 &&
	       !IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* The inode of a process's network namespace; 0: not permitted. */
static ino_t
space_inode(const char *process)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", process);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* A process in another network namespace that has the address; 0: none. */
static pid_t
space_find(const struct sockaddr_storage *address)
{
	ino_t seen[FINDER_SPACES] = {space_inode("self")}, inode;
	unsigned n = 1, i;
	DIR *proc = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (found == 0 && proc != NULL && n < FINDER_SPACES &&
	       (e = readdir(proc)) != NULL) {
		inode = isdigit((unsigned char)e->d_name[0])
			    ? space_inode(e->d_name)
			    : 0;
		for (i = 0; i < n && seen[i] != inode; i++)
			;
		if (inode == 0 || i < n)
			continue;
		seen[n++] = inode;
		if (space_has(atoi(e->d_name), address))
			found = atoi(e->d_name);
	}
	if (proc != NULL)
		closedir(proc);
	return found;
}

/* Find the sockets of an address in the last namespace used or, if the server
 * is not known (root is 0), in the one that has the address.  False: none. */
static bool
find_anywhere(
    struct finder *f, const struct sockaddr_storage *address, pid_t root)
{
	if (find_sockets(&f->sockets, f->space, address))
		return true;
	if (root != 0 || !is_of_network(address))
		return false;
	f->space = f->space == 0 ? space_find(address) : 0;
	return find_sockets(&f->sockets, f->space, address);
}

static bool
socket_has(const struct finder_sockets *s, uint64_t inode)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->inode[i] == inode)
			return true;
	return false;
}

bool
finder_changed(const struct finder *f, const struct sockaddr_storage *address)
{
	struct finder_sockets now;

	if (!find_sockets(&now, f->space, address))
		return false; /* the server ends, or starts again */
	for (unsigned i = 0; i < now.count; i++)
		if (!socket_has(&f->sockets, now.inode[i]))
			return true;
	return now.count != f->sockets.count;
}

/* --- processes ------------------------------------------------------------ */

/* True if a process has one of the sockets open. */
static bool
process_holds(pid_t pid, const struct finder_sockets *s)
{
	char path[64], link[64];
	struct dirent *e;
	unsigned long long inode;
	bool holds = false;
	ssize_t n;
	DIR *d;

	if (s->count == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (d == NULL)
		return false;
	while (!holds && (e = readdir(d)) != NULL) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		holds = sscanf(link, "socket:[%llu]", &inode) == 1 &&
			socket_has(s, inode);
	}
	closedir(d);
	return holds;
}

bool
finder_holds(pid_t pid, const struct sockaddr_storage *address)
{
	struct finder_sockets s;

	/* Search both namespaces: in ours another process may listen on a
	 * wildcard. */
	return (find_sockets(&s, 0, address) && process_holds(pid, &s)) ||
	       (find_sockets(&s, pid, address) && process_holds(pid, &s));
}

bool
finder_listens(pid_t pid, const struct sockaddr_storage *address)
{
	struct finder_sockets s;

	return find_sockets(&s, 0, address) || find_sockets(&s, pid, address);
}

bool
finder_alone(pid_t pid)
{
	return proc_descends(getpid(), pid);
}

static void
finder_see(struct finder *f, pid_t pid, pid_t root)
{
	struct finder_process p = {.pid = pid};
	char name[PROC_NAME_BYTES];
	struct finder_process *grown;

	/* Do not read the parent of the server itself: if the server ends
	 * meanwhile, the reader frees its memory (proc.c), and the end is
	 * noticed late. */
	if (pid != root)
		p.parent = proc_parent(pid);
	p.holds = pid == root || process_holds(pid, &f->sockets);
	if (p.holds && pid != root) {
		proc_name(pid, name);
		if (strcmp(name, "systemd") == 0) {
			f->activator = true;
			return;
		}
	}
	grown = array_reserve(f->seen, &f->room, f->count + 1, sizeof(p));
	f->failed |= grown == NULL;
	if (grown == NULL)
		return;
	f->seen = grown;
	f->seen[f->count++] = p;
}

/* The entry of a process that was seen, or NULL.  Entries are in order, as in
 * /proc. */
static const struct finder_process *
finder_seen(const struct finder *f, pid_t pid)
{
	size_t i = FIRST_WHERE(k, f->count, f->seen[k].pid >= pid);

	return i < f->count && f->seen[i].pid == pid ? &f->seen[i] : NULL;
}

/* The parent of a process, or NULL. */
static const struct finder_process *
finder_above(const struct finder *f, const struct finder_process *p)
{
	return p->parent > 0 ? finder_seen(f, p->parent) : NULL;
}

static bool
has_holder_above(const struct finder *f, const struct finder_process *p)
{
	unsigned depth;

	for (depth = 0; depth < DEPTH_MAX && p != NULL; depth++) {
		p = finder_above(f, p);
		if (p != NULL && p->holds)
			return true;
	}
	return false;
}

/* True if a process is an ancestor of Tailor. */
static bool
is_above_us(const struct finder *f, pid_t pid)
{
	const struct finder_process *p = finder_seen(f, getppid());
	unsigned depth;

	for (depth = 0; depth < DEPTH_MAX && p != NULL; depth++) {
		if (p->pid == pid)
			return true;
		p = finder_above(f, p);
	}
	return false;
}

/* List the server's processes: first the holders that have no holder above
 * them, then other holders, then all processes below these. */
static void
finder_family(const struct finder *f, struct family *out)
{
	const struct finder_process *p = f->seen, *end = p + f->count;
	bool more = true;

	memset(out, 0, sizeof(*out));
	for (p = f->seen; p < end; p++)
		if (p->holds && !has_holder_above(f, p))
			family_add(out, p->pid);
	for (p = f->seen; p < end; p++)
		if (p->holds)
			family_add(out, p->pid);
	while (more) {
		more = false;
		out->left_out = 0;
		for (p = f->seen; p < end; p++)
			if (family_has(out, p->parent) &&
			    !is_above_us(f, p->parent))
				more |= family_add(out, p->pid);
	}
}

static enum finder_result
finder_result(struct finder *f, struct family *out)
{
	enum finder_result r = FINDER_FOREIGN;

	if (f->failed) {
		finder_fini(f);
		return FINDER_NONE;
	}
	finder_family(f, out);
	if (out->count > 0)
		r = FINDER_FOUND;
	else if (f->activator)
		r = FINDER_ASLEEP;
	finder_fini(f);
	return r;
}

enum finder_result
finder_step(struct finder *f, const struct sockaddr_storage *address,
    pid_t root, struct family *out)
{
	unsigned n = 0, step = root != 0 ? FINDER_STEP_KNOWN : FINDER_STEP;
	struct dirent *e;

	if (f->proc == NULL) {
		f->activator = f->failed = false;
		if (!find_anywhere(f, address, root) && root == 0)
			return FINDER_NONE;
		f->proc = opendir("/proc");
		if (f->proc == NULL)
			return FINDER_FOREIGN;
	}
	while (n < step && (e = readdir(f->proc)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		n++;
		if (atoi(e->d_name) != getpid())
			finder_see(f, atoi(e->d_name), root);
	}
	return n == step ? FINDER_MORE : finder_result(f, out);
}
