/* exact.c: the table of latencies. */
#include "blame/report/exact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX (UINT64_C(1) << 53)
#define FIELDS 6

static const char head[] = "route,from_ns,to_ns,unnamed,le_ns,requests";

/* A whole number of at least 0, or -1. */
static int64_t
number_of(const char *text)
{
	char *end;
	long long v;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	v = strtoll(text, &end, 10);
	return *end != '\0' || errno != 0 ? -1 : v;
}

struct blame_latency *
blame_exact_route(struct blame_exact *e, const char *text)
{
	struct blame_latency *l;
	char name[BLAME_ROUTE];

	if (e->route == NULL)
		e->route = calloc(BLAME_ROUTES, sizeof(*e->route));
	if (e->route == NULL)
		return NULL;
	blame_rows_name(name, sizeof(name), text);
	for (unsigned i = 0; i < e->routes; i++)
		if (strcmp(e->route[i].name, name) == 0)
			return &e->route[i];
	if (e->routes == BLAME_ROUTES)
		return NULL;
	l = &e->route[e->routes++];
	memcpy(l->name, name, sizeof(name));
	histogram_init(&l->latency);
	return l;
}

static int
line_read(struct blame_exact *e, char *line)
{
	char *field[FIELDS];
	int64_t number[FIELDS];
	struct blame_latency *l;
	unsigned n = 0;

	while (line != NULL && n < FIELDS)
		field[n++] = strsep(&line, ",");
	if (n < FIELDS || line != NULL)
		return -EINVAL;
	for (unsigned i = 1; i < FIELDS; i++) {
		number[i] = number_of(field[i]);
		if (number[i] < 0)
			return -EINVAL;
	}
	l = blame_exact_route(e, field[0]);
	if ((uint64_t)number[5] > COUNT_MAX - e->left_out)
		return -EINVAL;
	if (l == NULL) {
		e->left_out += (uint64_t)number[5];
		return 0;
	}
	if ((uint64_t)number[5] > COUNT_MAX - l->latency.count)
		return -EINVAL;
	l->from_ns = number[1];
	l->to_ns = number[2];
	l->unnamed = (uint64_t)number[3];
	histogram_add(&l->latency, (uint64_t)number[4], (uint64_t)number[5]);
	return 0;
}

int
blame_exact_read(struct blame_exact *e, char *text)
{
	char *line = strsep(&text, "\n");
	int err = strcmp(line, head) == 0 ? 0 : -EINVAL;

	*e = (struct blame_exact){.routes = 0};
	while (err == 0 && (line = strsep(&text, "\n")) != NULL)
		if (*line != '\0')
			err = line_read(e, line);
	if (err != 0)
		blame_exact_fini(e);
	return err;
}

void
blame_exact_fini(struct blame_exact *e)
{
	free(e->route);
	*e = (struct blame_exact){.routes = 0};
}

const struct blame_latency *
blame_exact_of(const struct blame_exact *e, const char *name)
{
	for (unsigned i = 0; i < e->routes; i++)
		if (strcmp(e->route[i].name, name) == 0 &&
		    e->route[i].latency.count > 0)
			return &e->route[i];
	return NULL;
}

int64_t
blame_exact_quantile(const struct blame_latency *l, double p)
{
	uint64_t ns = histogram_quantile(&l->latency, p);

	return ns > BLAME_TIME_MAX ? BLAME_TIME_MAX : (int64_t)ns;
}
