/* client_spool.c: output waits in out, then in spool, then in behind. */
#include "proxy/client/client_spool.h"

#include "proxy/client/clients.h"
#include "proxy/net/socket.h"

#define MARK_MIN (2 * BLOCK_BYTES) /* per client, when memory is short */

/* One response may have this part of proxy.spool_max. */
#define SPOOL_SHARES 64

/* How many bytes of a response may wait in memory. */
static size_t
mark(const struct clients *all)
{
	const struct block_pool *b = all->blocks;

	if ((b->blocks - b->available) * BLOCK_BYTES > BUFFERS_BYTES_MAX)
		return MARK_MIN;
	return STREAM_BUFFER_BYTES;
}

/* Move behind to the file.  False: the file is at its limit, or the write
 * failed. */
static bool
write_behind(struct client *c)
{
	struct clients *all = c->clients;

	if (c->spool.bytes + c->behind.bytes >
	    all->config->proxy.spool_max_bytes / SPOOL_SHARES)
		return false;
	return spool_add(&all->loop->spools, &c->spool, &c->behind, all->blocks,
		   SPOOL_RESPONSE) == SPOOL_OK;
}

bool
client_takes(struct client *c, bool file)
{
	const struct spools *spools = &c->clients->loop->spools;

	if (!c->slow && chain_held(&c->out) <= mark(c->clients))
		return true;
	if (!file || *spools->directory == '\0' || spools->files_max == 0)
		return false;
	c->slow = true;
	return chain_held(&c->behind) < SPOOL_PIECE || write_behind(c);
}

bool
client_has_more(struct client *c)
{
	struct clients *all = c->clients;

	if (c->out.bytes > 0)
		return true;
	if (!c->slow)
		return false;
	if (c->spool_sent < c->spool.bytes)
		return true;
	/* The client has caught up. */
	c->slow = false;
	spool_close(&all->loop->spools, &c->spool);
	c->spool_sent = 0;
	chain_clear(&c->out, all->blocks);
	chain_move(&c->out, &c->behind);
	return c->out.bytes > 0;
}

ssize_t
client_write(struct client *c, int flags)
{
	struct iovec iov[CHAIN_IOV];
	ssize_t n;

	c->corked = flags != 0 && c->out.bytes > 0;
	if (c->out.bytes == 0) {
		n = spool_send(&c->spool, c->spool_sent, c->fd);
		if (n > 0)
			c->spool_sent += (uint64_t)n;
		return n;
	}
	n = socket_send(c->fd, iov, chain_iov(&c->out, iov, CHAIN_IOV), flags);
	if (n > 0)
		chain_consume(&c->out, c->clients->blocks, (size_t)n);
	return n;
}

void
client_drop_output(struct client *c)
{
	struct clients *all = c->clients;

	chain_clear(&c->out, all->blocks);
	chain_clear(&c->behind, all->blocks);
	spool_close(&all->loop->spools, &c->spool);
	c->spool_sent = 0;
	c->slow = false;
}
