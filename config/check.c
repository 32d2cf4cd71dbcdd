/* check.c: checks over several keys; see config_check in config.h. */
#include <errno.h>
#include <string.h>

#include "config/address.h"
#include "config/config.h"
#include "config/judge.h"
#include "config/value.h"

#define HEALTH_TARGET_MAX 256 /* also of a collect target */

static void
check_presence(const struct config *c, struct config_errors *errors)
{
	if (c->listeners == 0)
		errors_add(errors,
		    "listen: no address; name one for clients, for "
		    "example \":8080\"");
	if (c->servers == 0)
		errors_add(errors,
		    "servers: none given; name one or two, each with an "
		    "address");
	for (unsigned i = 0; i < c->servers; i++)
		if (c->server[i].address.length == 0)
			errors_add(errors,
			    "servers[%u].address: missing: where the server "
			    "listens",
			    i);
}

static void
check_listeners(const struct config *c, struct config_errors *errors)
{
	for (unsigned i = 0; i < c->listeners; i++) {
		const struct config_address *a = &c->listen[i];

		for (unsigned k = i + 1; k < c->listeners; k++)
			if (config_address_port(a) != 0 &&
			    config_address_equal(a, &c->listen[k]))
				errors_add(errors, "listen: %s is given twice",
				    a->text);
		if (config_address_port(a) != 0 &&
		    config_address_equal(a, &c->admin))
			errors_add(
			    errors, "admin: %s is also in listen", a->text);
		if (config_address_port(a) != 0 &&
		    config_address_equal(a, &c->metrics.listen))
			errors_add(errors,
			    "metrics.listen: %s is also in listen", a->text);
	}
	if (c->admin.length > 0 && config_address_port(&c->admin) != 0 &&
	    config_address_equal(&c->admin, &c->metrics.listen))
		errors_add(errors, "metrics.listen: %s is the address of admin",
		    c->admin.text);
	if (config_address_port(&c->admin) >= 0 && c->admin.length > 0 &&
	    !address_is_loopback(&c->admin))
		errors_add(errors,
		    "admin: %s is reachable from other machines; use a "
		    "loopback address or unix:/path",
		    c->admin.text);
}

/* True if proxy.trusted_proxies has peers on Unix sockets (local), or others
 * (not local). */
static bool
trusts_any(const struct config *c, bool local)
{
	for (unsigned i = 0; i < c->proxy.networks; i++)
		if ((c->proxy.trusted_proxies[i].family == AF_UNIX) == local)
			return true;
	return false;
}

static void
check_proxied(const struct config *c, struct config_errors *errors)
{
	for (unsigned i = 0; i < c->listeners; i++) {
		const struct config_address *a = &c->listen[i];

		if (a->proxied &&
		    !trusts_any(c, a->address.ss_family == AF_UNIX))
			errors_add(errors,
			    "listen: no peer may connect to %s; name the peers "
			    "in proxy.trusted_proxies",
			    a->text);
	}
}

/* True if a server's address leads to the listener itself. */
static bool
leads_back(
    const struct config_address *listener, const struct config_address *server)
{
	if (address_may_equal(listener, server))
		return true;
	return config_address_is_any(listener) && address_is_loopback(server) &&
	       config_address_port(listener) == config_address_port(server);
}

static void
check_servers(const struct config *c, struct config_errors *errors)
{
	for (unsigned i = 0; i < c->servers; i++)
		for (unsigned k = 0; k < c->listeners; k++)
			if (leads_back(&c->listen[k], &c->server[i].address))
				errors_add(errors,
				    "servers[%u].address: %s is where Tailor "
				    "itself listens",
				    i, c->server[i].address.text);
	for (unsigned i = 0; i < c->servers; i++)
		if (strlen(c->server[i].health) > HEALTH_TARGET_MAX)
			errors_add(errors,
			    "servers[%u].health: longer than %d bytes", i,
			    HEALTH_TARGET_MAX);
	for (unsigned i = 0; i < c->servers; i++)
		if (c->server[i].health_statuses == 0)
			errors_add(errors,
			    "servers[%u].health_status: none given; leave it "
			    "out for 200-399",
			    i);
	for (unsigned i = 0; i < c->servers; i++) {
		const struct config_server *s = &c->server[i];

		if (s->collect == CONFIG_COLLECT_HTTP &&
		    (*s->collect_target == '\0' ||
			!value_is_target(s->collect_target) ||
			s->collect_target[1] == '/' || /* a URL */
			strlen(s->collect_target) > HEALTH_TARGET_MAX))
			errors_add(errors,
			    "servers[%u].collect: \"http:/path\" needs a "
			    "target "
			    "of at most %d bytes",
			    i, HEALTH_TARGET_MAX);
	}
	if (c->servers < 2)
		return;
	if (address_may_equal(&c->server[0].address, &c->server[1].address))
		errors_add(errors,
		    "servers[1].address: %s is the address of servers[0] too",
		    c->server[1].address.text);
	if (strcmp(c->server[0].name, c->server[1].name) == 0)
		errors_add(errors,
		    "servers[1].name: \"%s\" is the name of servers[0] too",
		    c->server[1].name);
}

int
config_check(const struct config *c, struct config_errors *errors)
{
	unsigned before = errors->count;

	check_presence(c, errors);
	check_listeners(c, errors);
	check_proxied(c, errors);
	check_servers(c, errors);
	return errors->count == before ? 0 : -EINVAL;
}
