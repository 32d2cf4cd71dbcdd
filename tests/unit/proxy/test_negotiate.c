/*
 * Goal: Accept with its weights chooses the form; hostile fields do no harm;
 * the slowest of a window are found as they come.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "proxy/analysis/tale_format.h"
#include "proxy/request/slow.h"

#define NONE (-ENOENT)

static const struct {
	const char *accept;
	int preferred, expected;
} table[] = {
    {"", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
    {"", TALE_FORMAT_JSON, TALE_FORMAT_JSON},
    {"*/*", TALE_FORMAT_JSON, TALE_FORMAT_JSON},
    {"text/html", TALE_FORMAT_TEXT, TALE_FORMAT_HTML},
    {"text/*", TALE_FORMAT_HTML, TALE_FORMAT_HTML},
    {"text/*", TALE_FORMAT_JSON, TALE_FORMAT_TEXT},
    /* The more exact range counts, in whatever order. */
    {"text/*;q=0.9, text/plain;q=0.1", TALE_FORMAT_TEXT, TALE_FORMAT_HTML},
    {"text/plain;q=0.1, text/*;q=0.9", TALE_FORMAT_TEXT, TALE_FORMAT_HTML},
    {"*/*, text/plain;q=0", TALE_FORMAT_TEXT, TALE_FORMAT_JSON},
    /* Among equals: preferred, then exactly named, then in order. */
    {"*/*, image/svg+xml", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
    {"image/svg+xml, text/html", TALE_FORMAT_TEXT, TALE_FORMAT_HTML},
    {"image/*, application/json", TALE_FORMAT_TEXT, TALE_FORMAT_JSON},
    {"application/json;charset=utf-8;q=0.4,text/html;q=.5", TALE_FORMAT_TEXT,
	TALE_FORMAT_JSON},
    {"application/json ; q = 0.4 , text/html ; q=0.5", TALE_FORMAT_TEXT,
	TALE_FORMAT_HTML},
    {"text/html;q=1.000", TALE_FORMAT_TEXT, TALE_FORMAT_HTML},
    {"text/html;q=0.001", TALE_FORMAT_TEXT, TALE_FORMAT_HTML},
    {"image/png", TALE_FORMAT_TEXT, NONE},
    {"text/html;q=0", TALE_FORMAT_TEXT, NONE},
    /* What is no range says nothing. */
    {"html", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
    {"text/html;q=1.001", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
    {"text/html;q=-1", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
    {"text/html;q=", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
    {",,;,;q=1,", TALE_FORMAT_TEXT, TALE_FORMAT_TEXT},
};

TEST(test_choice)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct negotiation n = {0};
		int got;

		negotiate_accept(&n,
		    (struct slice){table[i].accept, strlen(table[i].accept)});
		got =
		    negotiate_choose(&n, (enum tale_format)table[i].preferred);
		if (got != table[i].expected)
			fail_msg("\"%s\": %d, not %d", table[i].accept, got,
			    table[i].expected);
	}
}

/* Goal: two fields are one list. */
TEST(test_two_fields)
{
	struct negotiation n = {0};

	negotiate_accept(&n, (struct slice){"text/plain;q=0.2", 16});
	negotiate_accept(&n, (struct slice){"text/html;q=0.3", 15});
	assert_int_equal(
	    negotiate_choose(&n, TALE_FORMAT_TEXT), TALE_FORMAT_HTML);
}

TEST(test_names)
{
	char extra[NEGOTIATE_EXTRA_BYTES];

	assert_int_equal(tale_format_named("chrome", 6), TALE_FORMAT_CHROME);
	assert_int_equal(tale_format_named("chrom", 5), -EINVAL);
	assert_int_equal(tale_format_named("", 0), -EINVAL);
	/* No id can break out of the file's name. */
	negotiate_extra(TALE_FORMAT_CHROME, "a\"\r\nX: /../y", extra);
	assert_string_equal(extra, "Content-Disposition: attachment; "
				   "filename=\"tailor-a___X___.._y.trace."
				   "json\"\r\n");
}

/* Goal: those still there at the end are the slowest of the window. */
TEST(test_window)
{
	struct slow_window w = {0};
	struct instant now = {1000};
	int64_t kept[5] = {0}, all[400];

	for (unsigned turn = 0; turn < 50; turn++) {
		for (unsigned i = 0; i < 400; i++) {
			all[i] = 1 + (int64_t)unit_draw(INT32_MAX);
			/* As the analysis does: the fastest makes room. */
			if (slow_window_take(&w, 5, 1000, now, all[i])) {
				unsigned least = 0;

				for (unsigned k = 1; k < 5; k++)
					if (kept[k] < kept[least])
						least = k;
				kept[least] = all[i];
			}
		}
		for (unsigned k = 0; k < 5; k++) {
			unsigned slower = 0;

			for (unsigned i = 0; i < 400; i++)
				slower += all[i] > kept[k];
			assert_true(slower < 5);
		}
		memset(kept, 0, sizeof(kept));
		now = instant_plus(now, 1000);
	}
	assert_false(slow_window_take(&w, 0, 1000, now, 1));
}

/* Goal: one of each turn is held at its end, each of them as often. */
TEST(test_sample)
{
	struct instant now = {1000 * (uint64_t)NS_PER_S};
	unsigned held = 0, at[10] = {0};
	struct slow_sample s = {0};
	uint64_t id = 0;

	assert_false(slow_sample_over(&s, 4, now));
	for (unsigned i = 0; i < 20000 * 10; i++) {
		if (slow_sample_over(&s, 4, now)) {
			assert_int_equal(i % 10, 0);
			assert_int_equal(s.requests, 10);
			at[held]++;
			s.requests = 0;
		}
		if (slow_sample_take(&s, 4, now, ++id))
			held = i % 10;
		now = instant_plus(now, NS_PER_S / 40);
	}
	for (unsigned k = 0; k < 10; k++)
		assert_in_range(at[k], 1850, 2150);
	/* No turn is of two seconds. */
	s.requests = 0;
	now = (struct instant){1001 * (uint64_t)NS_PER_S - 1};
	assert_true(slow_sample_take(&s, 3, now, ++id));
	assert_false(slow_sample_over(&s, 3, now));
	assert_true(slow_sample_over(&s, 3, instant_plus(now, 1)));
}

/* Goal: of the two limits, above both is slow, between them the tail. */
TEST(test_strata)
{
	assert_int_equal(slow_stratum(true, false, 9, 5), ACCOUNT_SLOW);
	assert_int_equal(slow_stratum(false, false, 9, 5), ACCOUNT_TAIL);
	assert_int_equal(slow_stratum(true, false, 5, 5), ACCOUNT_TAIL);
	assert_int_equal(slow_stratum(false, false, 5, 5), ACCOUNT_OTHER);
	assert_int_equal(slow_stratum(false, true, 5, 5), ACCOUNT_SLOWEST);
	assert_int_equal(slow_stratum(true, false, 5, 0), ACCOUNT_SLOW);
	assert_int_equal(slow_stratum(false, false, 5, 0), ACCOUNT_OTHER);
}
