/* counter_name.c: from an event's name to its number.
 *
 * A separate file, because libpfm4 declares kernel structures in conflict with
 * the kernel's own headers. */
#include "profiler/counters/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"

/* Read the number after prefix in a small sysfs file.  Returns 0 or -errno. */
static int
sysfs_number(const char *path, const char *prefix, uint64_t *out)
{
	char text[64] = "";
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || strncmp(text, prefix, strlen(prefix)) != 0)
		return -EINVAL;
	*out = strtoull(text + strlen(prefix), NULL, 0);
	return 0;
}

/* Find "pmu/event/" in the kernel's description of that PMU. */
static int
find_in_pmu(struct counter_number *out, const char *name)
{
	char pmu[40], event[40], path[160];
	uint64_t type, config;
	int end = 0, err;

	if (sscanf(name, "%39[A-Za-z0-9_]/%39[A-Za-z0-9_.-]/%n", pmu, event,
		&end) != 2 ||
	    end == 0 || name[end] != '\0')
		return -EINVAL;
	snprintf(path, sizeof(path), DEVICES "/%s/type", pmu);
	err = sysfs_number(path, "", &type);
	if (err < 0)
		return err;
	snprintf(path, sizeof(path), DEVICES "/%s/events/%s", pmu, event);
	err = sysfs_number(path, "event=", &config);
	if (err < 0)
		return err;
	*out = (struct counter_number){(uint32_t)type, config, 0, 0};
	return 0;
}

static int
find_in_pfm(struct counter_number *out, const char *name)
{
	struct perf_event_attr a = {.size = sizeof(a)};
	pfm_perf_encode_arg_t arg = {.attr = &a, .size = sizeof(arg)};
	int err = pfm_initialize();

	if (err == PFM_SUCCESS)
		err = pfm_get_os_event_encoding(
		    name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	switch (err) {
	case PFM_SUCCESS:
		*out = (struct counter_number){
		    a.type, a.config, a.config1, a.config2};
		return 0;
	case PFM_ERR_NOTSUPP:
		return -ENOENT;
	case PFM_ERR_NOMEM:
		return -ENOMEM;
	}
	return -EINVAL;
}

int
counter_number_find(struct counter_number *out, const char *name)
{
	return strchr(name, '/') != NULL ? find_in_pmu(out, name)
					 : find_in_pfm(out, name);
}
