/*
 * upgrade.h: upgrades to WebSocket.
 *
 * Pure functions over a parsed head; they cost one walk over its fields.
 */
#ifndef TAILOR_HTTP_UPGRADE_H
#define TAILOR_HTTP_UPGRADE_H

#include "http/http.h"

/* Lines that ask a server for it, or agree to it. */
#define HTTP_UPGRADE_LINES "Connection: upgrade\r\nUpgrade: websocket\r\n"

/* Whether a request asks for an upgrade that may be passed on: GET without a
 * body, exactly "Upgrade: websocket", one Sec-WebSocket-Key. */
bool http_upgrade_wanted(const struct http_head *head);

/* Whether a 101 agrees to exactly that. */
bool http_upgrade_agreed(const struct http_head *head);

#endif
