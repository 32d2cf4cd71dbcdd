#include "profiler/attach/listener.h"

#include "base/log.h"
#include "base/file.h"

#define ASK_TIMEOUT_NS (1 * NS_PER_S)
#define LISTENER_BACKLOG 64
#define ACCEPT_BATCH 16
/* How often channels are assigned anew while a JVM does not listen. */
#define ASSIGN_PERIOD_NS NS_PER_S

int
channel_listener_init(struct channel_listener *d)
{
	d->fd = -1;
	d->connection =
	    calloc(d->channels_max + PENDING_MAX, sizeof(*d->connection));
	return d->connection == NULL ? -ENOMEM : 0;
}

/* --- the socket ----------------------------------------------------------- */

/* True if no process listens at an address, or at the target of a link
 * there. */
static bool
channel_listener_is_dead(const struct sockaddr_un *address)
{
	bool dead;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return false;
	dead = connect(fd, (const void *)address, sizeof(*address)) < 0 &&
	       (errno == ECONNREFUSED || errno == ENOENT);
	close(fd);
	return dead;
}

/* Bind, replacing a socket file that has no listener. */
static int
channel_listener_bind(int fd, const struct sockaddr_un *address)
{
	struct stat st;

	if (bind(fd, (const void *)address, sizeof(*address)) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (lstat(address->sun_path, &st) < 0)
		return -EADDRINUSE;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return -EPERM;
	if (!S_ISSOCK(st.st_mode) || !channel_listener_is_dead(address))
		return -EADDRINUSE;
	(void)unlink(address->sun_path);
	return bind(fd, (const void *)address, sizeof(*address)) < 0 ? -errno
								     : 0;
}

int
channel_listener_open(struct channel_listener *d, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t mask;
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = rundir_prepare(path);
	if (err < 0)
		goto fail;
	mask = umask(0117);
	err = channel_listener_bind(fd, &address);
	umask(mask);
	if (err < 0)
		goto fail;
	if (lstat(path, &st) < 0 || listen(fd, LISTENER_BACKLOG) < 0) {
		err = -errno;
		goto fail_bound;
	}
	d->path = strdup(path);
	if (d->path == NULL) {
		err = -ENOMEM;
		goto fail_bound;
	}
	d->device = st.st_dev;
	d->inode = st.st_ino;
	d->fd = fd;
	return 0;

fail_bound:
	(void)unlink(path);
fail:
	close(fd);
	return err;
}

/* True if the link points to the open socket. */
static bool
leads_here(const struct channel_listener *d, const char *link)
{
	char target[sizeof(((struct sockaddr_un *)0)->sun_path)];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	return strcmp(target, strrchr(d->path, '/') + 1) == 0;
}

static void
channel_listener_unlink(struct channel_listener *d)
{
	if (d->link != NULL && leads_here(d, d->link))
		(void)unlink(d->link);
	free(d->link);
	d->link = NULL;
}

void
channel_listener_link(struct channel_listener *d, const char *link)
{
	const char *name = strrchr(d->path, '/') + 1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (link == NULL || strlen(link) >= sizeof(address.sun_path))
		return;
	strcpy(address.sun_path, link);
	/* A killed tailor may have left the link behind. */
	if (leads_here(d, link) || channel_listener_is_dead(&address))
		(void)unlink(link);
	if (symlink(name, link) < 0) {
		log_event(LOG_LEVEL_NOTICE, "channels_not_default",
		    "path=%s socket=%s error=\"%s\" advice=\"servers find "
		    "another tailor at this path: start this one's servers "
		    "with TALECHAIN_SOCKET=%s, unless it launches them\"",
		    link, d->path, strerror(errno), d->path);
		return;
	}
	d->link = strdup(link);
	if (d->link == NULL)
		(void)unlink(link);
}

void
channel_listener_fini(struct channel_listener *d)
{
	struct stat st;

	for (unsigned i = 0; i < d->count; i++) {
		if (d->connection[i].fd >= 0)
			close(d->connection[i].fd);
		channel_free(&d->connection[i].channel);
	}
	free(d->connection);
	d->connection = NULL;
	d->count = 0;
	channel_listener_unlink(d);
	/* Do not remove another tailor's socket. */
	if (d->path != NULL && lstat(d->path, &st) == 0 &&
	    st.st_dev == d->device && st.st_ino == d->inode)
		(void)unlink(d->path);
	free(d->path);
	d->path = NULL;
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/* --- whose channels they are ---------------------------------------------- */

int
channel_listener_server_of(struct channel_listener *d, const struct channel *c)
{
	const struct process *p;
	enum serving serving;

	for (unsigned i = 0; i < d->servers; i++) {
		p = &d->process[i];
		if (!process_owns(p, c->pid))
			continue;
		if (c->kind != TALECHAIN_KIND_JVM)
			return (int)i;
		if (!p->server.agent)
			return -1;
		serving = process_serves(p, c->pid);
		d->unsure |= serving != SERVING;
		return serving != SERVING_NOT ? (int)i : -1;
	}
	return -1;
}

void
channel_listener_assign(struct channel_listener *d)
{
	struct channel_connection *c;

	d->unsure = false;
	for (unsigned i = 0; i < d->count; i++) {
		c = &d->connection[i];
		if (c->state == CONNECTION_OPEN)
			__atomic_store_n(&c->channel->server,
			    channel_listener_server_of(d, c->channel),
			    __ATOMIC_RELAXED);
	}
}

/* Assign channels anew while a JVM may begin to listen: its agent has a channel
 * before that.  Returns the time until the next turn, ns; -1: never. */
static int64_t
channel_listener_turn_assign(struct channel_listener *d, struct instant now)
{
	if (!d->unsure)
		return -1;
	if (!instant_before(now, d->assign_at)) {
		channel_listener_assign(d);
		d->assign_at = instant_plus(now, ASSIGN_PERIOD_NS);
	}
	return instant_since(d->assign_at, now);
}

unsigned
channel_listener_agents(
    const struct channel_listener *d, unsigned server, int *fd)
{
	const struct channel_connection *c;
	unsigned agents = 0;

	*fd = -1;
	for (unsigned i = 0; i < d->count; i++) {
		c = &d->connection[i];
		if (c->state != CONNECTION_OPEN ||
		    c->channel->kind != TALECHAIN_KIND_JVM ||
		    c->channel->server != (int)server)
			continue;
		agents++;
		if (*fd < 0 &&
		    __atomic_load_n(
			&c->channel->memory->word[TALECHAIN_WORD_ORDERS],
			__ATOMIC_ACQUIRE) > 0)
			*fd = c->fd;
	}
	return agents;
}

/* --- one connection ------------------------------------------------------- */

/* Drop a connection without a channel; the last connection moves to its
 * place. */
static void
connection_drop(struct channel_listener *d, struct channel_connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->state == CONNECTION_ASKING)
		d->pending--;
	*c = d->connection[--d->count];
}

static void
connection_refuse(
    struct channel_listener *d, struct channel_connection *c, const char *why)
{
	char line[REASON_MAX + 8];
	int n = snprintf(line, sizeof(line), "NO %.*s\n", REASON_MAX, why);

	(void)send(c->fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	d->refused++;
	log_event(LOG_LEVEL_WARNING, "channel_refused",
	    "pid=%d uid=%u why=\"%s\"", (int)c->pid, (unsigned)c->uid, why);
	connection_drop(d, c);
}

/* Read the peer's credentials; false if the kernel gives none. */
static bool
connection_identify(struct channel_connection *c)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return false;
	c->pid = peer.pid;
	c->uid = peer.uid;
	return true;
}

/* Send the reply and the descriptor of the channel's memory. */
static int
connection_reply(struct channel_connection *c, const struct channel *channel)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char line[128];
	struct iovec iov = {.iov_base = line};
	struct msghdr m = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *h;

	/* Clients without SCM_RIGHTS can open the path instead. */
	iov.iov_len =
	    (size_t)snprintf(line, sizeof(line), "OK /proc/%d/fd/%d %zu\n",
		(int)getpid(), channel->memfd, channel->bytes);
	memset(&control, 0, sizeof(control));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &channel->memfd, sizeof(int));
	if (sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)iov.iov_len)
		return -EPIPE;
	return 0;
}

/* Handle a valid request: make the channel and send it. */
static void
connection_grant(struct channel_listener *d, struct channel_connection *c,
    const struct handshake *hello)
{
	size_t bytes = talechain_bytes(hello->slot_log2);
	struct observer_command o = {
	    .kind = COMMAND_CHANNEL, .at = instant_now()};
	struct channel *channel;
	int err;

	if (d->channels >= d->channels_max) {
		connection_refuse(d, c, "too many channels");
		return;
	}
	if (d->bytes + bytes > CHANNEL_BYTES_MAX) {
		connection_refuse(d, c, "too much memory in channels");
		return;
	}
	err = channel_new_outside(&channel, d->next_number, hello, c->pid);
	if (err < 0) {
		connection_refuse(d, c, strerror(-err));
		return;
	}
	channel->server = channel_listener_server_of(d, channel);
	if (connection_reply(c, channel) < 0) {
		channel_free(&channel);
		connection_drop(d, c);
		return;
	}
	d->next_number++;
	d->pending--;
	d->channels++;
	d->opened++;
	d->bytes += bytes;
	c->state = CONNECTION_OPEN;
	c->channel = channel;
	log_event(LOG_LEVEL_INFO, "channel_opened",
	    "channel=%u name=%s pid=%d server=%d slots=%u", channel->number,
	    hello->name, (int)c->pid, channel->server, 1u << hello->slot_log2);
	o.source = channel;
	sender_send(d->sender, &o);
}

/* Read bytes from a pending connection, which may be gone on return. */
static void
connection_ask(struct channel_listener *d, struct channel_connection *c)
{
	struct handshake hello;
	const char *why;
	ssize_t n;
	int err;

	n = recv(c->fd, c->text + c->length, sizeof(c->text) - c->length,
	    MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		connection_drop(d, c);
		return;
	}
	c->length += (size_t)n;
	err = handshake_parse(&hello, c->text, c->length, &why);
	if (err == -EAGAIN)
		return;
	/* Refuse after reading: closing with unread bytes could lose the
	 * reply. */
	if (c->uid != geteuid() && c->uid != 0)
		connection_refuse(d, c, "only tailor's own user and root may");
	else if (err < 0)
		connection_refuse(d, c, why);
	else if (hello.kind != TALECHAIN_KIND_APP &&
		 hello.kind != TALECHAIN_KIND_JVM)
		connection_refuse(d, c, "this kind is tailor's own");
	else
		connection_grant(d, c, &hello);
}

/* Close a connection whose writer is gone, or sent unexpected bytes. */
static void
connection_end(struct channel_listener *d, struct channel_connection *c)
{
	struct observer_command o = {.kind = COMMAND_CHANNEL_END,
	    .releases = true,
	    .at = instant_now(),
	    .source = c->channel};

	close(c->fd);
	c->fd = -1;
	c->state = CONNECTION_ENDING;
	sender_send(d->sender, &o);
}

void
channel_listener_release(struct channel_listener *d, struct channel *channel)
{
	unsigned i;

	for (i = 0; i < d->count; i++)
		if (d->connection[i].channel == channel)
			break;
	if (i == d->count)
		return;
	d->channels--;
	d->bytes -= channel->bytes;
	log_event(LOG_LEVEL_INFO, "channel_closed", "channel=%u pid=%d",
	    channel->number, (int)channel->pid);
	channel_free(&channel);
	connection_drop(d, &d->connection[i]);
}

/* --- all of them ---------------------------------------------------------- */

static void
channel_listener_accept(struct channel_listener *d, struct instant now)
{
	struct channel_connection *c;
	int fd;

	for (unsigned i = 0; i < ACCEPT_BATCH; i++) {
		fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (d->count == d->channels_max + PENDING_MAX) {
			d->refused++;
			close(fd);
			continue;
		}
		c = &d->connection[d->count++];
		memset(c, 0, sizeof(*c));
		c->fd = fd;
		c->deadline = instant_plus(now, ASK_TIMEOUT_NS);
		d->pending++;
		if (d->pending > PENDING_MAX)
			connection_refuse(d, c, "too many pending connections");
		else if (!connection_identify(c))
			connection_refuse(d, c, "unknown user");
	}
}

unsigned
channel_listener_poll(const struct channel_listener *d, struct pollfd *out)
{
	/* poll() ignores negative descriptors. */
	out[0] = (struct pollfd){.fd = d->fd, .events = POLLIN};
	for (unsigned i = 0; i < d->count; i++)
		out[i + 1] = (struct pollfd){
		    .fd = d->connection[i].fd, .events = POLLIN};
	return d->count + 1;
}

int64_t
channel_listener_turn(
    struct channel_listener *d, const struct pollfd *polled, struct instant now)
{
	struct channel_connection *c;
	int64_t due_ns = -1, left_ns;

	/* Backwards: a dropped connection is replaced by one already
	 * handled. */
	for (unsigned i = d->count; i-- > 0;) {
		c = &d->connection[i];
		if (c->state == CONNECTION_ENDING)
			continue;
		left_ns = instant_since(c->deadline, now);
		if (c->state == CONNECTION_OPEN) {
			if (polled[i + 1].revents != 0)
				connection_end(d, c);
		} else if (polled[i + 1].revents != 0) {
			connection_ask(d, c);
		} else if (left_ns <= 0) {
			connection_refuse(d, c, "timed out before a request");
		} else if (due_ns < 0 || left_ns < due_ns) {
			due_ns = left_ns;
		}
	}
	if (polled[0].revents != 0)
		channel_listener_accept(d, now);
	if (due_ns < 0 && d->pending > 0)
		due_ns = ASK_TIMEOUT_NS;
	return sooner_ns(due_ns, channel_listener_turn_assign(d, now));
}
