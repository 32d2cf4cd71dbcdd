#include "loadgen/report/report.h"

#define CAUSES_MAX 64

static void
put_finding(struct json *j, const struct finding *f)
{
	if (f == NULL)
		return;
	json_key_string(j, "verdict", f->code);
	if (f->share_ns >= 0)
		json_key_int(j, "share_ns", f->share_ns);
	json_key_string(j, "text", f->text);
	if (f->page[0] != '\0')
		json_key_string(j, "timeline", f->page);
}

void
report_json_slowest(
    struct json *j, const struct report *r, const struct slow_list *l)
{
	char id[REQUEST_ID_MAX];

	json_key_array(j, "slowest");
	for (size_t i = 0; i < l->count; i++) {
		const struct slow *slow = &l->slowest[i];
		const struct request_name name = {
		    .iteration = slow->iteration, .number = slow->number};
		(void)request_id_format(&r->texts.ids, &name, id);
		json_object_begin(j);
		json_key_uint(j, "iteration", slow->iteration);
		json_key_uint(j, "seq", slow->number);
		json_key_string(j, "id", id);
		json_key_int(j, "latency_ns", slow->latency_ns);
		json_key_int(j, "lag_ns", slow->lag_ns);
		if (slow->server_ns >= 0)
			json_key_int(j, "server_ns", slow->server_ns);
		put_finding(
		    j, findings_of(&r->findings, name.iteration, name.number));
		json_object_end(j);
	}
	json_array_end(j);
}

void
report_json_causes(struct json *j, const struct report *r)
{
	const struct findings *f = &r->findings;
	struct slow_cause causes[CAUSES_MAX];
	int n = findings_causes(f, causes, CAUSES_MAX);

	if (f->count + f->pinned + f->missing + f->failed == 0)
		return;
	json_key_array(j, "verdicts");
	for (int i = 0; i < n; i++) {
		json_object_begin(j);
		json_key_string(j, "code", causes[i].code);
		json_key_uint(j, "count", causes[i].count);
		if (causes[i].median_ns >= 0)
			json_key_int(j, "median_ns", causes[i].median_ns);
		json_key_string(j, "example", causes[i].text);
		json_object_end(j);
	}
	json_array_end(j);
	json_key_object(j, "talechain");
	json_key_uint(j, "pinned", f->pinned);
	json_key_uint(j, "analyzed", f->count);
	json_key_uint(j, "missing", f->missing);
	json_key_uint(j, "failed", f->failed);
	if (f->why[0] != '\0')
		json_key_string(j, "given_up", f->why);
	json_object_end(j);
}
