/*
 * Goal: the page is one document that needs nothing else: its policy comes
 * first, nothing of the template is left open, the data cannot end its
 * element, the tables have a row for everything.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/render/kind.h"
#include "talechain/render/render.h"
#include "tests/unit/talechain/markup_check.h"
#include "tests/unit/talechain/samples.h"

#define SEEDS 40

/* The rows of the table in the element with this id. */
static size_t
rows(const char *text, const char *id)
{
	const char *begin, *end;
	char mark[40], *part;
	size_t n;

	snprintf(mark, sizeof(mark), "<details id=\"%s\">", id);
	begin = strstr(text, mark);
	assert_non_null(begin);
	begin = strstr(begin, "<tbody>");
	end = strstr(begin, "</tbody>");
	part = strndup(begin, (size_t)(end - begin));
	assert_non_null(part);
	n = occurrences(part, "<tr");
	assert_int_equal(n, occurrences(part, "</tr>"));
	free(part);
	return n;
}

static void
whole(const struct story *s)
{
	char *text = sample_rendered(story_render_html, s);
	const char *fault;
	unsigned depth;

	fault = markup_fault(text, &depth);
	if (fault != NULL)
		fail_msg("wrong at: %.200s", fault);
	assert_int_equal(occurrences(text, "<script"), 3);
	assert_int_equal(occurrences(text, "</script>"), 3);
	assert_int_equal(rows(text, "segments"), s->segments);
	assert_int_equal(rows(text, "bars"), s->bars);
	assert_int_equal(rows(text, "arrows"), s->arrows);
	assert_int_equal(rows(text, "events"), s->tale->entries);
	assert_int_equal(occurrences(text, "<g class=\"bar "), s->bars);
	free(text);
}

/* Goal: every sample, and stories by chance, make a whole page. */
TEST(test_whole)
{
	samples_each(whole, SEEDS);
}

/* Goal: the policy stands before everything that it is to hold back. */
TEST(test_policy)
{
	struct sample *s = sample_new("ack");
	char *text = sample_rendered(story_render_html, &s->story);
	const char *policy = strstr(text, "Content-Security-Policy"), *hash;
	unsigned hashes = 0;

	assert_non_null(policy);
	assert_true(policy < strstr(text, "<style>"));
	assert_true(policy < strstr(text, "<script"));
	assert_non_null(strstr(policy, "default-src 'none'; script-src "));
	assert_null(strstr(text, "unsafe-"));
	/* Base64 of 32 bytes, each; test_store.py compares their values. */
	for (hash = text; (hash = strstr(hash, "'sha256-")) != NULL; hashes++) {
		hash += strlen("'sha256-");
		assert_int_equal(strcspn(hash, "'"), 44);
	}
	assert_int_equal(hashes, 4);
	/* Nothing is fetched, nothing runs from an attribute. */
	assert_null(strstr(text, " src="));
	assert_null(strstr(text, " href="));
	assert_null(strstr(text, " onclick="));
	assert_null(strstr(text, " style="));
	free(text);
	free(s);
}

/* Goal: no {{NAME}} of the template is left, and no @FILE@. */
TEST(test_blanks)
{
	struct sample *s = sample_new("gc");
	char *text = sample_rendered(story_render_html, &s->story);
	const char *at;
	size_t n;

	assert_null(strstr(text, "{{"));
	for (at = text; (at = strchr(at, '@')) != NULL; at++) {
		n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz.");
		assert_false(n > 0 && at[n + 1] == '@');
	}
	free(text);
	free(s);
}

/*
 * Goal: each cause has a kind, each kind a colour, a word and, if it is a wait,
 * a pattern that no other has; those that explain nothing look like that.
 */
TEST(test_kinds)
{
	struct sample *s = sample_new("held");
	char *text = sample_rendered(story_render_html, &s->story), mark[64];
	struct text patterns = {0};

	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		assert_int_equal(
		    kind_of_cause((enum tale_cause)c) == KIND_UNSEEN,
		    c == TALE_CAUSE_UNKNOWN || c == TALE_CAUSE_BLIND ||
			c == TALE_CAUSE_LOST || c == TALE_CAUSE_NOT_OBSERVED);
	kind_patterns(&patterns);
	for (unsigned k = 0; k < KIND_COUNT; k++) {
		const char *class = strrchr(kind_class((enum kind)k), ' ');

		snprintf(mark, sizeof(mark), ".picture .%s ",
		    class != NULL ? class + 1 : kind_class((enum kind)k));
		assert_non_null(strstr(text, mark));
		snprintf(mark, sizeof(mark), "<pattern id=\"p%u\"", k);
		if (kind_is_wait((enum kind)k))
			assert_non_null(strstr(patterns.at, mark));
	}
	free(patterns.at);
	free(text);
	free(s);
}

/* Goal: when, where, which process, whose threads and which other request. */
TEST(test_origin)
{
	struct sample *s = sample_new("held");
	char *text = sample_rendered(story_render_html, &s->story), *svg,
	     *plain;
	static const char origin[] =
	    "begun 2026-09-21T14:13:20.412312Z on db-7, server A pid 800, "
	    "Tailor 0.9-test";
	size_t n;

	assert_non_null(strstr(text, origin));
	assert_int_equal(rows(text, "threads"), 2);
	assert_non_null(strstr(text,
	    "<td class=\"time\">815</td><td>http-nio-8080-exec-17</td>"
	    "<td class=\"time\">800</td><td>A</td>"));
	assert_int_equal(rows(text, "requests"), 1);
	assert_non_null(
	    strstr(text, "<td>00000000000000ee</td><td>their-id</td>"
			 "<td>GET /report?of=all</td>"));
	/* In the picture the name is whole, and says whose it is. */
	assert_non_null(strstr(text, ">http-nio-8080-exec-17<title>"));
	assert_non_null(strstr(text, ">waited for, A 815<"));
	assert_non_null(strstr(text, ", thread 815 of A, "));
	assert_int_equal(story_render_svg(&s->story, &svg, &n), 0);
	assert_non_null(strstr(svg, "server A pid 800"));
	assert_int_equal(story_render_text(&s->story, &plain, &n), 0);
	assert_non_null(strstr(plain, "begun 2026-09-21T14:13:20.412312Z"));
	free(plain);
	free(svg);
	free(text);
	free(s);
}

/* Goal: hostile strings end neither the data nor anything else. */
TEST(test_hostile)
{
	struct sample *s = sample_new("hostile");
	char *text = sample_rendered(story_render_html, &s->story);
	const char *data = strstr(text, "id=\"data\">"), *end;

	assert_null(strstr(text, "<img"));
	assert_non_null(data);
	data += strlen("id=\"data\">");
	end = strchr(data, '<');
	assert_int_equal(strncmp(end, "</script>\n<script>", 18), 0);
	assert_int_equal(data[0], '{');
	assert_int_equal(end[-1], '}');
	for (; data < end; data++)
		assert_true((unsigned char)*data >= 0x20 && *data != '>' &&
			    *data != '&' && *data != '\xe2');
	free(text);
	free(s);
}

/* Goal: moments in the tables are those of the story. */
TEST(test_moments)
{
	struct sample *s = sample_new("ack");
	char *text = sample_rendered(story_render_html, &s->story);

	assert_non_null(strstr(text,
	    "<td class=\"time\">0.340 ms</td><td class=\"time\">90.0 \xc2\xb5s"
	    "</td><td>CPU 2 search</td><td>work</td><td>parse</td>"));
	assert_non_null(strstr(text,
	    "<td class=\"time\">2.290 ms</td><td class=\"time\">41.010 ms</td>"
	    "<td class=\"time\">38.7 ms</td><td>waiting for an ACK</td>"));
	assert_non_null(strstr(text, "<td>proxy_receive</td><td>request="));
	free(text);
	free(s);
}
