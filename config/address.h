/* address.h: networks; private to config/ (addresses are in config.h). */
#pragma once

#include <netinet/in.h>

#include "config/config.h"

/* Parse "10.0.0.0/8", "::1/128" or an address, which is a network of one.
 * Returns 0, or -EINVAL with *why set to a static sentence. */
int
network_parse(const char *text, struct config_network *out, const char **why);

#define NETWORK_TEXT_MAX (INET6_ADDRSTRLEN + 4)

/* A network as text: "10.0.0.0/8", or "unix" for Unix sockets.  Returns out. */
char *
network_format(const struct config_network *n, char out[NETWORK_TEXT_MAX]);

/* True for 127.0.0.0/8 and ::1; false for a Unix socket. */
bool address_is_loopback(const struct config_address *a);

/* True if two addresses are equal, or if the "other" address of one (::1 of
 * localhost) equals the second. */
bool address_may_equal(
    const struct config_address *a, const struct config_address *b);
