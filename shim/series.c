#include "shim/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int
series_init(
    struct shim_series *s, const struct sampler *sampler, size_t intervals)
{
	memset(s, 0, sizeof(*s));
	s->sampler = sampler;
	s->row = calloc(intervals, sizeof(*s->row));
	s->room = intervals;
	return s->row != NULL ? 0 : -ENOMEM;
}

void
series_fini(struct shim_series *s)
{
	free(s->row);
	s->row = NULL;
}

void
series_add(struct shim_series *s, const struct shim_sample *now, bool kept)
{
	struct shim_sample begin;

	s->samples++;
	s->kept += kept;
	if (!join_end(&s->join, now, s->sampler->signals, &begin))
		return;
	s->cycles += now->clock.end - begin.clock.end;
	for (unsigned i = 0; i < s->sampler->signals; i++)
		s->count[i] += now->value[i] - begin.value[i];
}

void
series_close(struct shim_series *s, uint64_t at_ns)
{
	struct series_row *r;

	if (s->rows == s->room) {
		s->missed++;
	} else {
		r = &s->row[s->rows++];
		r->at_ns = at_ns;
		r->samples = s->samples;
		r->kept = s->kept;
		for (unsigned i = 0; i < s->sampler->signals; i++)
			r->rate[i] = s->cycles > 0 ? (double)s->count[i] /
							 (double)s->cycles
						   : 0;
	}
	s->samples = s->kept = s->cycles = 0;
	memset(s->count, 0, sizeof(s->count));
}

void
series_csv(const struct shim_series *s, FILE *out)
{
	const struct series_row *r;

	fputs("at_ns,samples,kept", out);
	for (unsigned i = 0; i < s->sampler->signals; i++) {
		const char *c = s->sampler->signal[i].name;

		fputs(",\"", out);
		for (; *c != '\0'; c++) {
			if (*c == '"')
				fputc('"', out);
			fputc(*c, out);
		}
		fputs("\"", out);
	}
	fputc('\n', out);
	for (r = s->row; r < s->row + s->rows; r++) {
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, r->at_ns,
		    r->samples, r->kept);
		for (unsigned i = 0; i < s->sampler->signals; i++)
			fprintf(out, ",%.9g", r->rate[i]);
		fputc('\n', out);
	}
}

void
series_chrome(const struct shim_series *s, struct json *j)
{
	const struct series_row *r;

	json_object_begin(j);
	json_key_string(j, "displayTimeUnit", "ns");
	json_key_array(j, "traceEvents");
	for (r = s->row; r < s->row + s->rows; r++)
		for (unsigned i = 0; i < s->sampler->signals; i++) {
			json_object_begin(j);
			json_key_string(j, "ph", "C");
			json_key_uint(j, "pid", 1);
			json_key_string(j, "name", s->sampler->signal[i].name);
			json_key_double(j, "ts", (double)r->at_ns / 1000);
			json_key_object(j, "args");
			json_key_double(j, "per cycle", r->rate[i]);
			json_object_end(j);
			json_object_end(j);
		}
	json_array_end(j);
	json_object_end(j);
}
