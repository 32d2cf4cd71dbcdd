/* pairs.c: which lanes lend, and which borrow from them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/topology.h"
#include "lanes/lanes.h"

static void
pairs_init(struct lanes_pairs *p)
{
	CPU_ZERO(&p->lends);
	CPU_ZERO(&p->borrows);
	for (unsigned i = 0; i < TALECHAIN_LANES; i++)
		p->core[i] = (unsigned short)i;
}

static void
pairs_add(struct lanes_pairs *p, size_t lends, size_t borrows)
{
	unsigned short one = p->core[lends], other = p->core[borrows];

	CPU_SET(lends, &p->lends);
	CPU_SET(borrows, &p->borrows);
	for (unsigned i = 0; i < TALECHAIN_LANES; i++)
		if (p->core[i] == other)
			p->core[i] = one;
}

/* The words of a core are in the line of its first borrowing lane. */
static void
pairs_finish(struct lanes_pairs *p)
{
	unsigned short first[TALECHAIN_LANES] = {0};

	for (unsigned i = TALECHAIN_LANES; i-- > 0;)
		if (CPU_ISSET(i, &p->borrows))
			first[p->core[i]] = (unsigned short)i;
	for (unsigned i = 0; i < TALECHAIN_LANES; i++)
		if (CPU_ISSET(i, &p->lends) || CPU_ISSET(i, &p->borrows))
			p->core[i] = first[p->core[i]];
}

/* Whether no core has too many borrowing lanes. */
static int
few(const struct lanes_pairs *p, char *why)
{
	unsigned n[TALECHAIN_LANES] = {0};

	for (unsigned i = 0; i < TALECHAIN_LANES; i++) {
		if (!CPU_ISSET(i, &p->borrows) ||
		    ++n[p->core[i]] <= TALECHAIN_BESIDE)
			continue;
		snprintf(why, LANES_WHY,
		    "at most %d CPUs can borrow of one, or of the same ones",
		    TALECHAIN_BESIDE);
		return -EINVAL;
	}
	return 0;
}

int
lanes_pairs_parse(struct lanes_pairs *out, const char *text, char *why)
{
	unsigned long lends, borrows;
	const char *at = text;
	cpu_set_t both;
	char list[256], *end;

	pairs_init(out);
	do {
		lends = strtoul(at, &end, 10);
		if (end == at || *end != ':')
			goto malformed;
		at = end + 1;
		borrows = strtoul(at, &end, 10);
		if (end == at || (*end != ',' && *end != '\0') ||
		    lends >= TALECHAIN_LANES || borrows >= TALECHAIN_LANES)
			goto malformed;
		pairs_add(out, lends, borrows);
		at = end + 1;
	} while (*end == ',');
	CPU_AND(&both, &out->lends, &out->borrows);
	if (CPU_COUNT(&both) > 0) {
		snprintf(why, LANES_WHY,
		    "CPU %s cannot both lend and borrow; give the CPUs of the "
		    "service first: 0:1,2:3",
		    topology_format_cpus(&both, list, sizeof(list)));
		return -EINVAL;
	}
	pairs_finish(out);
	return few(out, why);

malformed:
	snprintf(why, LANES_WHY,
	    "%s is not a list of pairs of CPUs; give one like 0:1,2:3", text);
	return -EINVAL;
}

int
lanes_pairs_beside(struct lanes_pairs *out, const struct topology *t,
    const cpu_set_t *lends, char *why)
{
	unsigned neighbours = 0;
	cpu_set_t beside;
	char list[256];

	pairs_init(out);
	for (size_t i = 0; i < TALECHAIN_LANES; i++) {
		if (!CPU_ISSET(i, lends))
			continue;
		neighbours += topology_neighbours(t, (int)i, &beside);
		for (size_t k = 0; k < TALECHAIN_LANES; k++)
			if (CPU_ISSET(k, &beside) && !CPU_ISSET(k, lends))
				pairs_add(out, i, k);
	}
	pairs_finish(out);
	if (CPU_COUNT(&out->borrows) > 0)
		return few(out, why);
	topology_format_cpus(lends, list, sizeof(list));
	if (neighbours == 0)
		snprintf(why, LANES_WHY,
		    "no hyperthread beside CPU %s may be used; leave out "
		    "--pairs to borrow the CPUs themselves, or name others: "
		    "--pairs 0:1",
		    list);
	else
		snprintf(why, LANES_WHY,
		    "the service may run on all hyperthreads of its cores, "
		    "CPU %s; leave it one of each (taskset -apc), or leave "
		    "out --pairs to borrow the CPUs themselves",
		    list);
	return -EINVAL;
}
