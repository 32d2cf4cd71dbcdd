/*
 * proxy_protocol.h: the PROXY protocol's header, versions 1 and 2.
 *
 * A load balancer in front writes it before a connection's first byte, to
 * say for whom it connects.  It is read only on listeners that are configured to
 * expect it and then must be there: what may or may not begin a connection
 * could be written by any client.  Pure function over memory.
 */
#ifndef TAILOR_HTTP_PROXY_PROTOCOL_H
#define TAILOR_HTTP_PROXY_PROTOCOL_H

#include <stddef.h>
#include <sys/socket.h>

#define PROXY_HEADER_MAX 4096 /* with all that version 2 may append */

enum proxy_header {
	PROXY_HEADER_MORE,  /* not whole yet */
	PROXY_HEADER_READ,  /* *used bytes of it */
	PROXY_HEADER_LOCAL, /* likewise: the peer speaks for itself, as health
			* checks do */
	PROXY_HEADER_BAD, /* nothing that this connection says can be believed */
};

/*
 *   source  receives the client's address and port; ss_family is AF_UNSPEC
 *           if there is none (LOCAL) or the peer does not say it (UNKNOWN,
 *           UNSPEC, UNIX): a client of its all the same
 * Version 2's further fields are passed over, their checksum too.
 */
enum proxy_header proxy_header_read(const char *buf, size_t length,
    size_t *used, struct sockaddr_storage *source);

#endif
