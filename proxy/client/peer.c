/* peer.c: addresses against lists of networks, and a table of counts. */
#include "proxy/client/peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* The bytes of an IP address in network order, and its family; an IPv4-mapped
 * IPv6 address is IPv4.  NULL for other families. */
static const uint8_t *
address_bytes(const struct sockaddr_storage *address, int *family)
{
	*family = address->ss_family;
	if (*family == AF_INET6) {
		const struct sockaddr_in6 *a6 = (const void *)address;

		if (!IN6_IS_ADDR_V4MAPPED(&a6->sin6_addr))
			return a6->sin6_addr.s6_addr;
		*family = AF_INET;
		return a6->sin6_addr.s6_addr + 12;
	}
	if (*family == AF_INET)
		return (const void *)&(
		    (const struct sockaddr_in *)(const void *)address)
		    ->sin_addr;
	return NULL;
}

/* True if an address lies in one of the networks. */
static bool
network_holds(const struct config_network *networks, unsigned n, int family,
    const uint8_t *bytes)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned whole = networks[i].bits / 8;
		unsigned rest = networks[i].bits % 8;
		uint8_t mask = (uint8_t)(0xff00 >> rest);

		if (networks[i].family != family ||
		    memcmp(networks[i].address, bytes, whole) != 0)
			continue;
		if (rest == 0 ||
		    ((networks[i].address[whole] ^ bytes[whole]) & mask) == 0)
			return true;
	}
	return false;
}

/* Peers on this machine (a proxy, a load generator) have no address limit. */
static const struct config_network this_machine[] = {
    {.family = AF_INET, .address = {127}, .bits = 8},
    {.family = AF_INET6, .address = {[15] = 1}, .bits = 128},
};

void
peer_describe(const struct config *c, const struct sockaddr_storage *address,
    struct peer *out)
{
	static const uint8_t none[16];
	int family;
	const uint8_t *bytes = address_bytes(address, &family);

	memset(out, 0, sizeof(*out));
	if (bytes != NULL) {
		inet_ntop(family, bytes, out->address, sizeof(out->address));
		memcpy(out->key, bytes, family == AF_INET ? 4 : 8);
		out->key[1] = (uint64_t)family;
	} else {
		snprintf(out->address, sizeof(out->address),
		    family == AF_UNIX ? "unix" : "unknown");
		out->local = family == AF_UNIX;
		bytes = none;
	}
	out->trusted = network_holds(
	    c->proxy.trusted_proxies, c->proxy.networks, family, bytes);
	out->tale_allowed = network_holds(
	    c->talechain.allow, c->talechain.networks, family, bytes);
	out->exempt = network_holds(this_machine,
	    sizeof(this_machine) / sizeof(this_machine[0]), family, bytes);
}

int
peer_table_init(struct peer_table *t, unsigned connections_max)
{
	unsigned buckets = 64;

	while (buckets < connections_max && buckets < 1U << 20)
		buckets *= 2;
	*t = (struct peer_table){.mask = buckets - 1};
	if (getrandom(t->seed, sizeof(t->seed), 0) != sizeof(t->seed))
		return -EIO;
	t->bucket = calloc(buckets, sizeof(struct peer_count *));
	return t->bucket != NULL ? 0 : -ENOMEM;
}

static void
list_free(struct peer_count *list)
{
	struct peer_count *next;

	for (; list != NULL; list = next) {
		next = list->next;
		free(list);
	}
}

void
peer_table_fini(struct peer_table *t)
{
	if (t->bucket == NULL)
		return;
	for (unsigned i = 0; i <= t->mask; i++)
		list_free(t->bucket[i]);
	list_free(t->unused);
	free(t->bucket);
	*t = (struct peer_table){0};
}

static struct peer_count **
bucket_of(struct peer_table *t, const uint64_t *key)
{
	unsigned __int128 product = (unsigned __int128)(key[0] ^ t->seed[0]) *
				    ((key[1] ^ t->seed[1]) | 1);

	return &t->bucket[((uint64_t)product ^ (uint64_t)(product >> 64)) &
			  t->mask];
}

struct peer_count *
peer_enter(struct peer_table *t, const struct peer *peer)
{
	struct peer_count **bucket, *n;

	if (peer->local || peer->trusted)
		return NULL;
	bucket = bucket_of(t, peer->key);
	for (n = *bucket; n != NULL; n = n->next)
		if (memcmp(n->key, peer->key, sizeof(n->key)) == 0) {
			n->connections++;
			return n;
		}
	n = t->unused;
	if (n != NULL)
		t->unused = n->next;
	else
		n = malloc(sizeof(*n));
	if (n == NULL)
		return NULL;
	*n = (struct peer_count){.next = *bucket, .connections = 1};
	memcpy(n->key, peer->key, sizeof(n->key));
	*bucket = n;
	t->addresses++;
	return n;
}

void
peer_leave(struct peer_table *t, struct peer_count *count)
{
	struct peer_count **at;

	if (count == NULL)
		return;
	assert(count->connections > 0);
	if (--count->connections > 0)
		return;
	assert(count->half_open == 0);
	for (at = bucket_of(t, count->key); *at != count; at = &(*at)->next)
		assert(*at != NULL);
	*at = count->next;
	count->next = t->unused;
	t->unused = count;
	t->addresses--;
}
