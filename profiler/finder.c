#include "profiler/finder.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define TCP_STATE_LISTEN 0x0a
#define UNIX_FLAG_LISTEN 0x10000u

void
finder_init(struct finder *f)
{
	memset(f, 0, sizeof(*f));
	f->uid = (uid_t)-1;
}

void
finder_fini(struct finder *f)
{
	if (f->proc != NULL)
		closedir(f->proc);
	f->proc = NULL;
}

/* "0100007F": each word of the address, printed as a number. */
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
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* 2 exactly this address, 1 a wildcard that includes it, 0 neither. */
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

/* Search one table of TCP sockets; true if anything listens there. */
static bool
find_tcp(
    struct finder *f, const char *table, const struct sockaddr_storage *address)
{
	FILE *file = fopen(table, "re");
	uint64_t inode;
	char line[512];
	uid_t uid;
	int best = 0, match = 0;

	if (file == NULL)
		return false;
	while (
	    best < 2 && match >= 0 && fgets(line, sizeof(line), file) != NULL) {
		match = finder_match(line, address, &inode, &uid);
		if (match <= best)
			continue;
		best = match;
		f->inode = inode;
		f->uid = uid;
	}
	fclose(file);
	return best > 0;
}

static bool
find_unix(struct finder *f, const struct sockaddr_storage *address)
{
	const struct sockaddr_un *want = (const void *)address;
	FILE *file = fopen("/proc/net/unix", "re");
	unsigned long long inode;
	char line[512];
	unsigned flags;
	int path;
	bool found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		path = 0;
		if (sscanf(line, "%*x: %*x %*x %x %*x %*x %llu %n", &flags,
			&inode, &path) < 2 ||
		    path == 0)
			continue;
		found = (flags & UNIX_FLAG_LISTEN) != 0 &&
			strcmp(line + path, want->sun_path) == 0;
	}
	fclose(file);
	if (found) {
		f->inode = inode;
		f->uid = (uid_t)-1;
	}
	return found;
}

static bool
find_socket(struct finder *f, const struct sockaddr_storage *address)
{
	switch (address->ss_family) {
	case AF_INET:
		return find_tcp(f, "/proc/net/tcp", address) ||
		       find_tcp(f, "/proc/net/tcp6", address);
	case AF_INET6:
		return find_tcp(f, "/proc/net/tcp6", address);
	case AF_UNIX:
		return find_unix(f, address);
	default:
		return false;
	}
}

/* Whether a process has the socket open. */
static bool
process_holds(const char *pid, uint64_t inode)
{
	char path[300], link[64], want[64];
	struct dirent *e;
	bool holds = false;
	ssize_t n;
	DIR *d;

	snprintf(
	    want, sizeof(want), "socket:[%llu]", (unsigned long long)inode);
	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	if (d == NULL)
		return false;
	while (!holds && (e = readdir(d)) != NULL) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		holds = strcmp(link, want) == 0;
	}
	closedir(d);
	return holds;
}

enum finder_result
finder_step(
    struct finder *f, const struct sockaddr_storage *address, pid_t *pid)
{
	struct dirent *e;
	unsigned n = 0;

	if (f->proc == NULL) {
		if (!find_socket(f, address))
			return FINDER_NONE;
		f->proc = opendir("/proc");
		if (f->proc == NULL)
			return FINDER_FOREIGN;
	}
	while (n < FINDER_STEP && (e = readdir(f->proc)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		n++;
		if (atoi(e->d_name) == getpid() ||
		    !process_holds(e->d_name, f->inode))
			continue;
		*pid = atoi(e->d_name);
		finder_fini(f);
		return FINDER_FOUND;
	}
	if (n == FINDER_STEP)
		return FINDER_MORE;
	finder_fini(f);
	return FINDER_FOREIGN;
}
