/* sums.c: for how long batch work ran beside busy lanes. */
#include "lanes/lanes.h"

/* As in lanes.bpf.c. */
static uint64_t
busy_ns(const struct talechain_lane *core, uint64_t now)
{
	uint64_t hold = talechain_borrow_read(&core->hold);
	uint64_t changed = talechain_borrow_read(&core->changed_ns);

	return talechain_borrow_read(&core->busy_ns) +
	       (hold != 0 && now > changed ? now - changed : 0);
}

/* Of a borrowing lane. */
static int64_t
beside_ns(const struct talechain_lane *l, uint64_t busy, uint64_t now)
{
	uint64_t since = talechain_borrow_read(&l->since_ns);
	uint64_t before = talechain_borrow_read(&l->before_ns);
	uint64_t most = since != 0 && now > since ? now - since : 0;
	uint64_t runs = busy > before ? busy - before : 0;

	return (int64_t)(talechain_borrow_read(&l->overlap_ns) +
			 (runs < most ? runs : most));
}

struct lanes_sums
lanes_sums(const struct talechain_lane *words,
    const struct talechain_asker *askers, int core, uint64_t now)
{
	const struct talechain_asker *a = &askers[core];
	uint64_t busy = busy_ns(&words[core], now);
	struct lanes_sums s = {
	    .napped_ns = (int64_t)talechain_borrow_read(&a->napped_ns)};

	for (int i = 0; i < TALECHAIN_LANES; i++) {
		if (words[i].role != TALECHAIN_BORROWS ||
		    (int)words[i].core != core)
			continue;
		s.busy_ns += (int64_t)busy;
		s.beside_ns += beside_ns(&words[i], busy, now);
	}
	return s;
}
