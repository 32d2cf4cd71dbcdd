/* counter_name.c: from an event's name to its number.
 *
 * A separate file, because libpfm4 declares kernel structures in conflict with
 * the kernel's own headers. */
#include "profiler/counters/counter.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define DEVICES "/sys/bus/event_source/devices"

/* The word of that name; NULL: there is none. */
static uint64_t *
word_of(struct counter_number *out, const char *name)
{
	return strcmp(name, "config") == 0    ? &out->config
	       : strcmp(name, "config1") == 0 ? &out->config1
	       : strcmp(name, "config2") == 0 ? &out->config2
					      : NULL;
}

/* Put a value where a PMU's format file says: "config1:0-7,32-35".  0 or
 * -EINVAL. */
static int
value_put(struct counter_number *out, char *format, uint64_t value)
{
	char *name, *place, *next;
	uint64_t *word;

	name = strtok_r(format, ":", &next);
	word = name != NULL ? word_of(out, name) : NULL;
	if (word == NULL)
		return -EINVAL;
	for (place = strtok_r(NULL, ",", &next); place != NULL;
	     place = strtok_r(NULL, ",", &next)) {
		unsigned low, high;
		int n = sscanf(place, "%u-%u", &low, &high);

		if (n == 1)
			high = low;
		if (n < 1 || low > high || high > 63)
			return -EINVAL;
		*word |= (value & UINT64_MAX >> (63 - (high - low))) << low;
		value = high - low < 63 ? value >> (high - low + 1) : 0;
	}
	return 0;
}

/* Take the kernel's description of an event: "event=0x2e,umask=0x41,edge".
 * 0, -EINVAL or -ENOENT. */
static int
terms_take(struct counter_number *out, const char *devices, const char *pmu,
    char *terms)
{
	char format[80], *term, *next, *end;
	int err = 0;

	for (term = strtok_r(terms, ",", &next); term != NULL && err == 0;
	     term = strtok_r(NULL, ",", &next)) {
		char *text = strchr(term, '=');
		uint64_t value = 1, *whole;

		if (text != NULL) {
			*text++ = '\0';
			value = strtoull(text, &end, 0);
			if (*text == '\0' || *end != '\0')
				return -EINVAL; /* "?": to be given */
		}
		whole = word_of(out, term);
		if (file_read_line(format, sizeof(format), "%s/%s/format/%s",
			devices, pmu, term))
			err = value_put(out, format, value);
		else if (whole != NULL)
			*whole |= value;
		else
			err = -ENOENT;
	}
	return err;
}

/* Find "pmu/event/" in the kernel's description of that PMU. */
static int
find_in_pmu(struct counter_number *out, const char *name, const char *devices)
{
	char pmu[40], event[40], text[256];
	int end = 0;

	if (sscanf(name, "%39[A-Za-z0-9_]/%39[A-Za-z0-9_.-]/%n", pmu, event,
		&end) != 2 ||
	    end == 0 || name[end] != '\0')
		return -EINVAL;
	*out = (struct counter_number){0};
	if (!file_read_line(text, sizeof(text), "%s/%s/type", devices, pmu))
		return -ENOENT;
	out->type = (uint32_t)strtoul(text, NULL, 10);
	if (!file_read_line(
		text, sizeof(text), "%s/%s/events/%s", devices, pmu, event))
		return -ENOENT;
	return terms_take(out, devices, pmu, text);
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
counter_number_find(
    struct counter_number *out, const char *name, const char *devices)
{
	return strchr(name, '/') == NULL
		   ? find_in_pfm(out, name)
		   : find_in_pmu(
			 out, name, devices != NULL ? devices : DEVICES);
}
