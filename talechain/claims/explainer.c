/* explainer.c: the order of the steps from a tale to its claims. */
#include "talechain/claims/explainer.h"

#include "base/array.h"

void
explainer_init(struct explainer *ex, const struct tale *t)
{
	static void (*const step[])(struct explainer * ex) = {
	    losses_find,
	    threads_find,
	    path_claim,
	    cause_rates,
	    check_claims,
	    tile_make,
	    check_tiles,
	    requests_list,
	};
	int64_t total_ns = tale_total_ns(t);

	*ex = (struct explainer){.t = t, .s = calloc(1, sizeof(*ex->s))};
	ex->failed = ex->s == NULL;
	if (ex->failed)
		return;
	tale_chain_find(&ex->chain, t);
	ex->s->tale = t;
	ex->s->total_ns = total_ns > 0 ? total_ns : 0;
	ex->s->kernel = ex->chain.kernel;
	ex->s->in_flight = ex->chain.in_flight;
	for (size_t i = 0; i < COUNT(step) && !ex->failed; i++)
		step[i](ex);
}

void
explainer_fini(struct explainer *ex)
{
	free(ex->claim);
	free(ex->segment_claim);
	free(ex->loss);
	free(ex->interval);
	free(ex->name);
}
