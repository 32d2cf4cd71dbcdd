/* cpulist.c: sets of CPUs as text, "0-3,8"; see topology.h. */
#include "base/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

/* Read a number at *p, and move *p past it. */
static int
parse_cpu(const char **p, size_t *out)
{
	size_t cpu = 0;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	for (; isdigit((unsigned char)**p); (*p)++) {
		if (cpu < CPU_SETSIZE) /* no overflow; read on */
			cpu = cpu * 10 + (size_t)(**p - '0');
	}
	*out = cpu;
	return 0;
}

int
topology_parse_cpus(const char *text, cpu_set_t *out)
{
	const char *p = text;
	bool too_large = false;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (;;) {
		size_t first, last;

		if (parse_cpu(&p, &first) != 0)
			return -EINVAL;
		last = first;
		if (*p == '-' && (p++, parse_cpu(&p, &last) != 0))
			return -EINVAL;
		if (last < first)
			return -EINVAL;
		if (last >= CPU_SETSIZE)
			too_large = true;
		for (size_t i = first; i <= last && i < CPU_SETSIZE; i++)
			CPU_SET(i, &set);
		if (*p == '\0')
			break;
		if (*p++ != ',')
			return -EINVAL;
	}
	if (too_large)
		return -ERANGE;
	*out = set;
	return 0;
}

char *
topology_format_cpus(const cpu_set_t *set, char *out, size_t size)
{
	size_t used = 0;

	if (size > 0)
		out[0] = '\0';
	for (size_t i = 0; i < CPU_SETSIZE && used < size; i++) {
		const char *comma = used > 0 ? "," : "";
		size_t first = i;
		int n;

		if (!CPU_ISSET(i, set))
			continue;
		while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, set))
			i++;
		if (i == first)
			n = snprintf(
			    out + used, size - used, "%s%zu", comma, i);
		else
			n = snprintf(out + used, size - used, "%s%zu-%zu",
			    comma, first, i);
		used += (size_t)n;
	}
	return out;
}
