/* analyze.c: the JSON body of POST /.talechain/analyze. */
#include "proxy/analysis/analyze.h"

#include <cjson/cJSON.h>

int
analyze_id(struct slice s, char out[65])
{
	if (s.length == 0 || s.length > 64)
		return -EINVAL;
	for (size_t i = 0; i < s.length; i++)
		if (s.at[i] <= ' ' || s.at[i] >= 0x7f || s.at[i] == '"' ||
		    s.at[i] == '\\' || s.at[i] == '/')
			return -EINVAL;
	memcpy(out, s.at, s.length);
	out[s.length] = '\0';
	return 0;
}

/* Return ns as an instant, or none if it is so large that the difference of two
 * instants might overflow. */
static struct instant
stamp_in_range(uint64_t ns)
{
	return ns <= INT64_MAX / 2 ? (struct instant){ns} : INSTANT_NONE;
}

static struct instant
stamp(const cJSON *client, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(client, name);

	/* Numbers over 2^53 do not survive cJSON's double; text does. */
	if (cJSON_IsString(v))
		return stamp_in_range(strtoull(v->valuestring, NULL, 10));
	if (cJSON_IsNumber(v) && v->valuedouble > 0 && v->valuedouble < 9e18)
		return stamp_in_range((uint64_t)v->valuedouble);
	return INSTANT_NONE;
}

int
analyze_parse(const char *text, size_t length, const char *boot_id, char id[65],
    struct tale_client *stamps)
{
	cJSON *j = cJSON_ParseWithLength(text, length);
	const cJSON *named, *client, *boot;
	int err = -EINVAL;

	*stamps = (struct tale_client){0};
	named = cJSON_GetObjectItemCaseSensitive(j, "id");
	if (cJSON_IsString(named))
		err = analyze_id((struct slice){named->valuestring,
				     strlen(named->valuestring)},
		    id);
	if (err == 0) {
		client = cJSON_GetObjectItemCaseSensitive(j, "client");
		stamps->scheduled = stamp(client, "sched_ns");
		stamps->sent = stamp(client, "send_ns");
		stamps->received = stamp(client, "last_ns");
		boot = cJSON_GetObjectItemCaseSensitive(client, "boot_id");
		stamps->same_host =
		    cJSON_IsString(boot) && *boot_id != '\0' &&
		    strncmp(boot->valuestring, boot_id, 36) == 0;
	}
	cJSON_Delete(j);
	return err;
}
