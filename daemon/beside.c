/* beside.c: GET /reload of the admin listener that the configuration names, of
 * those beside it, and for root of those in /run.  The running tailor compares,
 * as its paths depend on its environment; its file is known by device and
 * inode. */
#include "daemon/beside.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/terminal.h"
#include "config/config.h"
#include "http/client/client.h"

#define PATIENCE_NS NS_PER_S

static void
print_list(const cJSON *list, const char *before)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, list)
	{
		const char *text = cJSON_GetStringValue(one);

		if (text == NULL)
			continue;
		fputs(before, stdout);
		plain_wrap(stdout, text, (unsigned)strlen(before));
	}
}

static void
print_reload(const cJSON *tree)
{
	const cJSON *name = cJSON_GetObjectItem(tree, "instance");
	const char *instance = plain_cell(cJSON_GetStringValue(name), 40);
	const cJSON *errors = cJSON_GetObjectItem(tree, "errors");
	const cJSON *changed = cJSON_GetObjectItem(tree, "changed");

	if (cJSON_GetArraySize(errors) > 0) {
		printf("the running tailor %s would refuse to reload it:\n",
		    instance);
		print_list(errors, "    ");
	} else if (cJSON_GetArraySize(changed) > 0) {
		printf("a reload of the running tailor %s would change:\n",
		    instance);
		print_list(changed, "    ");
	} else {
		printf("the running tailor %s has it in force\n", instance);
	}
}

/* True if the tailor reads this file. */
static bool
same_file(const cJSON *tree, const struct stat *file)
{
	const cJSON *device = cJSON_GetObjectItem(tree, "device");
	const cJSON *inode = cJSON_GetObjectItem(tree, "inode");

	return cJSON_IsNumber(device) && cJSON_IsNumber(inode) &&
	       device->valuedouble == (double)file->st_dev &&
	       inode->valuedouble == (double)file->st_ino;
}

/* Send the request to one address; true if the tailor there has the file. */
static bool
address_report(
    const struct sockaddr *to, socklen_t length, const struct stat *file)
{
	static const struct http_request q = {
	    .method = "GET", .target = "/reload", .host = "localhost"};
	struct instant deadline = instant_plus(instant_now(), PATIENCE_NS);
	int fd = http_client_connect(to, length, deadline);
	struct http_response a;
	const char *why;
	cJSON *tree;
	bool same;

	if (fd < 0 || http_client_exchange(fd, &q, deadline, &a, &why) < 0)
		return false;
	tree = cJSON_ParseWithLength(a.body, a.length);
	same = same_file(tree, file);
	if (same)
		print_reload(tree);
	cJSON_Delete(tree);
	http_response_fini(&a);
	return same;
}

/* The same for all admin sockets in directories. */
static bool
directory_report(const char *directory, int length, const struct stat *file)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char pattern[sizeof(to.sun_path) + 16];
	glob_t found;
	bool over = false;

	snprintf(
	    pattern, sizeof(pattern), "%.*s/admin*.sock", length, directory);
	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc && !over; i++) {
		if (strlen(found.gl_pathv[i]) >= sizeof(to.sun_path))
			continue;
		strcpy(to.sun_path, found.gl_pathv[i]);
		over = address_report(
		    (const struct sockaddr *)&to, sizeof(to), file);
	}
	globfree(&found);
	return over;
}

void
beside_report(const struct config *c, const char *file)
{
	const struct sockaddr *admin = (const void *)&c->admin.address;
	const char *path =
	    ((const struct sockaddr_un *)(const void *)admin)->sun_path;
	struct stat st;

	if (file == NULL || stat(file, &st) < 0)
		return;
	if (c->admin.length > 0 && address_report(admin, c->admin.length, &st))
		return;
	/* The name, a part of the path, may be what the file changes. */
	if (c->admin.length > 0 && admin->sa_family == AF_UNIX &&
	    directory_report(path, (int)(strrchr(path, '/') - path), &st))
		return;
	/* Root does not have the directories of units. */
	if (geteuid() == 0)
		directory_report("/run/tailor*", 100, &st);
}
