/* notify.c: sd_notify(3) over our own datagram socket. */
#include "daemon/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "proxy/client/listeners.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/server.h"

#define STATUS_PERIOD_NS NS_PER_S

static struct {
	int fd; /* owned; -1: there is no service manager */
	struct sockaddr_un address;
	socklen_t length;
	int64_t watchdog_ns; /* half its period; 0: none */
	long keeps;	     /* descriptors that the manager keeps */
	struct instant watchdog_due, status_due;
	char status[256]; /* as last sent */
} notify = {.fd = -1};

static void
notify_send(const char *text)
{
	if (notify.fd < 0)
		return;
	/* A manager that does not read must not stop us. */
	if (sendto(notify.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
		(const struct sockaddr *)&notify.address, notify.length) < 0)
		log_event(LOG_LEVEL_DEBUG, "notify_failed", "error=\"%s\"",
		    strerror(errno));
}

/* Send text with descriptors, 1 .. LISTENERS.  0 or -errno. */
static int
notify_send_fds(const char *text, const int *fd, unsigned n)
{
	union {
		char bytes[CMSG_SPACE((size_t)LISTENERS * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec data = {
	    .iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
	struct msghdr m = {.msg_name = &notify.address,
	    .msg_namelen = notify.length,
	    .msg_iov = &data,
	    .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(head), fd, n * sizeof(int));
	return sendmsg(notify.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno
								       : 0;
}

static void
watchdog_init(void)
{
	const char *period = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");

	if (period != NULL &&
	    (pid == NULL || strtol(pid, NULL, 10) == (long)getpid()))
		notify.watchdog_ns = strtoll(period, NULL, 10) * NS_PER_US / 2;
	if (notify.watchdog_ns < 0)
		notify.watchdog_ns = 0;
}

void
notify_init(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	const char *keeps = getenv("FDSTORE");
	size_t n = path != NULL ? strlen(path) : 0;

	/* "@name" is in the abstract namespace. */
	if (n >= 2 && n < sizeof(notify.address.sun_path) &&
	    (*path == '/' || *path == '@')) {
		notify.address.sun_family = AF_UNIX;
		memcpy(notify.address.sun_path, path, n);
		if (*path == '@')
			notify.address.sun_path[0] = '\0';
		notify.length =
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
		notify.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		watchdog_init();
		if (keeps != NULL)
			notify.keeps = strtol(keeps, NULL, 10);
	}
	unsetenv("FDSTORE");
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void
notify_fini(void)
{
	if (notify.fd >= 0)
		close(notify.fd);
	notify.fd = -1;
}

int64_t
notify_watchdog_ns(void)
{
	return notify.watchdog_ns;
}

static void
status_text(const struct proxy *p, char *out, size_t size)
{
	size_t n = 0;

	UPSTREAM_EACH(&p->upstream, i)
	if (n < size)
		n += (size_t)snprintf(out + n, size - n, "%s%s %s%s",
		    n > 0 ? ", " : "", p->upstream.server[i].config->name,
		    server_state_shown(&p->upstream.server[i]),
		    p->hedging.active == i ? " (active)" : "");
}

void
notify_ready(const struct proxy *p)
{
	char text[300];

	status_text(p, notify.status, sizeof(notify.status));
	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", notify.status);
	notify_send(text);
}

void
notify_reloading(void)
{
	char text[80];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
	    (unsigned long long)(instant_now().ns / NS_PER_US));
	notify_send(text);
}

void
notify_stopping(void)
{
	notify_send("STOPPING=1\nSTATUS=finishing requests in flight");
}

void
notify_keep(struct clients *all)
{
	int fd[LISTENERS], err = 0;
	struct listener *of[LISTENERS];
	unsigned n = 0;

	for (unsigned i = 0; i < LISTENERS; i++) {
		struct listener *l = &all->listener[i];

		if (l->fd < 0 || l->inherited)
			continue;
		l->kept = false;
		of[n] = l;
		fd[n++] = l->fd;
	}
	if (notify.keeps == 0)
		return;
	notify_send("FDSTOREREMOVE=1\nFDNAME=" LISTENER_KEPT);
	if (n == 0)
		return;
	if ((long)n > notify.keeps)
		err = -ENOBUFS;
	else
		err =
		    notify_send_fds("FDSTORE=1\nFDNAME=" LISTENER_KEPT, fd, n);
	if (err < 0)
		log_event(LOG_LEVEL_WARNING, "listeners_not_kept",
		    "sockets=%u error=\"%s\" costs=\"a restart refuses "
		    "clients\" advice=\"FileDescriptorStoreMax= and FDSTORE "
		    "of the unit have room for each address of listen\"",
		    n, strerror(-err));
	for (unsigned i = 0; i < n; i++)
		of[i]->kept = err == 0;
}

void
notify_tick(const struct proxy *p, struct instant now)
{
	char status[256], text[300];

	if (notify.fd < 0)
		return;
	if (notify.watchdog_ns > 0 &&
	    !instant_before(now, notify.watchdog_due)) {
		notify.watchdog_due = instant_plus(now, notify.watchdog_ns);
		notify_send("WATCHDOG=1");
	}
	if (p->clients.stopping || instant_before(now, notify.status_due))
		return;
	notify.status_due = instant_plus(now, STATUS_PERIOD_NS);
	status_text(p, status, sizeof(status));
	if (strcmp(status, notify.status) == 0)
		return;
	memcpy(notify.status, status, sizeof(status));
	snprintf(text, sizeof(text), "STATUS=%s", status);
	notify_send(text);
}
