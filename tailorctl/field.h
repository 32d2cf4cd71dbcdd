/* field.h: members of JSON objects that may be missing or of another type.
 *
 * Responses may come from another version: a missing member reads as "unknown"
 * and nothing is assumed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* A text, borrowed from the tree, or NULL. */
static inline const char *
field_text(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(
	    cJSON_GetObjectItemCaseSensitive(object, key));
}

/* A number, or missing.  Whole numbers are exact up to 2^53. */
static inline long long
field_number(const cJSON *object, const char *key, long long missing)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(item) || !(item->valuedouble > -9e15) ||
	    !(item->valuedouble < 9e15))
		return missing;
	return (long long)item->valuedouble;
}

/* A number of any size, or missing. */
static inline double
field_double(const cJSON *object, const char *key, double missing)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : missing;
}

/* Whether it is there and true. */
static inline bool
field_true(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* An array or object, or NULL; cJSON_ArrayForEach accepts NULL. */
static inline const cJSON *
field_list(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}
