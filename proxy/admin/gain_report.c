/*
 * gain_report.c: the blocks of the last day, oldest first; of a histogram the
 * buckets that are not empty.
 */
#include "proxy/admin/gain_report.h"

#include "proxy/request/proxy.h"
#include "proxy/request/slow.h"

/* [bucket, count] each. */
static void
write_counts(const uint32_t *count, const char *key, struct json *j)
{
	json_key_array(j, key);
	for (unsigned i = 0; i < GAIN_BUCKETS; i++) {
		if (count[i] == 0)
			continue;
		json_array_begin(j);
		json_uint(j, i);
		json_uint(j, count[i]);
		json_array_end(j);
	}
	json_array_end(j);
}

static void
write_block(const struct gain_block *b, struct json *j)
{
	json_object_begin(j);
	json_key_uint(j, "requests", b->requests);
	json_key_uint(j, "met", b->met);
	json_key_uint(j, "again", b->again);
	json_key_uint(j, "failed", b->failed);
	json_key_uint(j, "saved", b->saved);
	json_key_uint(j, "unknown", b->unknown);
	json_key_int(j, "was_max_ns", b->was_max_ns);
	json_key_int(j, "would_max_ns", b->would_max_ns);
	write_counts(b->was, "was", j);
	write_counts(b->would, "would", j);
	json_object_end(j);
}

void
gain_report(struct proxy *p, struct json *j)
{
	uint64_t last = instant_now().ns / (uint64_t)GAIN_BLOCK_NS;

	json_object_begin(j);
	json_key_string(j, "schema", "tailor.gain/1");
	json_key_string(j, "mode",
	    p->config->hedging.mode == CONFIG_MODE_ACT ? "act" : "watch");
	json_key_int(j, "block_ns", GAIN_BLOCK_NS);
	json_key_int(j, "uptime_ns", instant_since(instant_now(), p->started));
	json_key_int(j, "target_ns", slow_target_ns(p));
	json_key_array(j, "edges_ns");
	for (unsigned i = 0; i < GAIN_BUCKETS; i++)
		json_int(j, gain_bucket_ns(i));
	json_array_end(j);
	json_key_array(j, "blocks");
	for (unsigned i = 1; p->gain != NULL && i <= GAIN_BLOCKS; i++) {
		uint64_t n = last - GAIN_BLOCKS + i;
		const struct gain_block *b = &p->gain->block[n % GAIN_BLOCKS];

		if (b->number == n && b->requests > 0)
			write_block(b, j);
	}
	json_array_end(j);
	json_object_end(j);
}
