/* check.c: checks over several keys; see config_check in config.h. */
#include <errno.h>
#include <string.h>
#include <sys/un.h>

#include "config/address.h"
#include "config/config.h"
#include "config/judge.h"
#include "config/value.h"

#define HEALTH_TARGET_MAX 256 /* also of a collect target */

static void
check_presence(const struct config *c, struct config_errors *errors)
{
	if (c->listeners == 0)
		config_errors_add(errors,
		    "listen: no address; name one for clients, for "
		    "example \":8080\"");
	if (c->servers == 0)
		config_errors_add(errors,
		    "servers: none given; name one or two, each with an "
		    "address");
	for (unsigned i = 0; i < c->servers; i++)
		if (c->server[i].address.length == 0)
			config_errors_add(errors,
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
				config_errors_add(errors,
				    "listen: %s is given twice", a->text);
		if (config_address_port(a) != 0 &&
		    config_address_equal(a, &c->admin))
			config_errors_add(
			    errors, "admin: %s is also in listen", a->text);
		if (config_address_port(a) != 0 &&
		    config_address_equal(a, &c->metrics.listen))
			config_errors_add(errors,
			    "metrics.listen: %s is also in listen", a->text);
	}
	if (c->admin.length > 0 && config_address_port(&c->admin) != 0 &&
	    config_address_equal(&c->admin, &c->metrics.listen))
		config_errors_add(errors,
		    "metrics.listen: %s is the address of admin",
		    c->admin.text);
	if (config_address_port(&c->admin) >= 0 && c->admin.length > 0 &&
	    !address_is_loopback(&c->admin))
		config_errors_add(errors,
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
			config_errors_add(errors,
			    "listen: no peer may connect to %s; name the peers "
			    "in proxy.trusted_proxies",
			    a->text);
	}
}

/* Refuse a path of two sockets. */
static void
check_sockets(const struct config *c, struct config_errors *errors)
{
	const struct config_address *all[CONFIG_LISTENERS + 2];
	const char *channels = c->profiler.channel_socket;
	unsigned n = 0;

	for (unsigned i = 0; i < c->listeners; i++)
		all[n++] = &c->listen[i];
	all[n++] = &c->admin;
	all[n++] = &c->metrics.listen;
	for (unsigned i = 0; i < n; i++)
		if (all[i]->length > 0 &&
		    all[i]->address.ss_family == AF_UNIX &&
		    strcmp(((const struct sockaddr_un *)(const void *)&all[i]
				   ->address)
			       ->sun_path,
			channels) == 0)
			config_errors_add(errors,
			    "profiler.channel_socket: %s is also in listen, "
			    "admin or metrics.listen; give it a path of its "
			    "own",
			    channels);
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

/* Refuse settings of a program that there is not. */
static void
check_launch(const struct config *c, struct config_errors *errors)
{
	for (unsigned i = 0; i < c->servers; i++) {
		const struct config_server *s = &c->server[i];
		const char *key = *s->directory != '\0' ? "directory"
				  : *s->output != '\0'	? "output"
				  : s->envc > 0		? "environment"
							: NULL;

		if (s->argc == 0 && key != NULL)
			config_errors_add(errors,
			    "servers[%u].launch.%s: nothing is launched: set "
			    "launch.command, or leave this out",
			    i, key);
	}
}

static void
check_servers(const struct config *c, struct config_errors *errors)
{
	for (unsigned i = 0; i < c->servers; i++)
		for (unsigned k = 0; k < c->listeners; k++)
			if (leads_back(&c->listen[k], &c->server[i].address))
				config_errors_add(errors,
				    "servers[%u].address: %s is where Tailor "
				    "itself listens",
				    i, c->server[i].address.text);
	for (unsigned i = 0; i < c->servers; i++)
		if (address_may_equal(&c->admin, &c->server[i].address) ||
		    address_may_equal(
			&c->metrics.listen, &c->server[i].address))
			config_errors_add(errors,
			    "servers[%u].address: %s is Tailor's own admin or "
			    "metrics.listen",
			    i, c->server[i].address.text);
	for (unsigned i = 0; i < c->servers; i++)
		if (strlen(c->server[i].health) > HEALTH_TARGET_MAX)
			config_errors_add(errors,
			    "servers[%u].health: longer than %d bytes", i,
			    HEALTH_TARGET_MAX);
	for (unsigned i = 0; i < c->servers; i++)
		if (c->server[i].health_statuses == 0)
			config_errors_add(errors,
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
			config_errors_add(errors,
			    "servers[%u].collect: \"http:/path\" needs a "
			    "target "
			    "of at most %d bytes",
			    i, HEALTH_TARGET_MAX);
	}
	check_launch(c, errors);
	if (c->servers == 1 && c->hedging.steer)
		config_errors_add(errors,
		    "hedging.steer: needs two servers; add one, or leave it "
		    "out");
	if (c->servers < 2)
		return;
	if (address_may_equal(&c->server[0].address, &c->server[1].address))
		config_errors_add(errors,
		    "servers[1].address: %s is the address of servers[0] too",
		    c->server[1].address.text);
	if (strcmp(c->server[0].name, c->server[1].name) == 0)
		config_errors_add(errors,
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
	check_sockets(c, errors);
	check_servers(c, errors);
	return errors->count == before ? 0 : -EINVAL;
}
