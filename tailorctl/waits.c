#include "tailorctl/waits.h"

#include <stdio.h>
#include <string.h>

#include "base/instant.h"
#include "base/text.h"
#include "tailorctl/field.h"
#include "base/terminal.h"

static void
append_count(char *out, size_t size, int64_t n, const char *what)
{
	if (n > 0)
		text_append(out, size, "%s%lld %s%s", *out != '\0' ? ", " : "",
		    (long long)n, what, n == 1 ? "" : "s");
}

const char *
waits_text(const cJSON *waits)
{
	int64_t oldest_ns = field_number(waits, "oldest_ns", -1);
	int64_t cut_ns = field_number(waits, "cut_in_ns", -1);
	const char *method = field_text(waits, "method");
	const char *target = field_text(waits, "target");
	char text[512] = "";

	append_count(
	    text, sizeof(text), field_number(waits, "requests", 0), "request");
	append_count(
	    text, sizeof(text), field_number(waits, "tunnels", 0), "WebSocket");
	append_count(text, sizeof(text), field_number(waits, "losers", 0),
	    "beaten response");
	if (*text != '\0' && cut_ns >= 0)
		text_append(text, sizeof(text), ", cut in %llds",
		    (long long)(cut_ns / NS_PER_S));
	if (*text != '\0' && oldest_ns >= 0 && method != NULL && target != NULL)
		text_append(text, sizeof(text), "; oldest %llds: %s %.200s",
		    (long long)(oldest_ns / NS_PER_S), method, target);
	return plain_cell(text, 64);
}
