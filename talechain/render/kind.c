/* kind.c: which kind each cause and each bar is of, and how kinds are drawn. */
#include "talechain/render/kind.h"

static const struct {
	const char *classes, *words, *pattern;
} rows[KIND_COUNT] = {
#define KIND_X(symbol, classes, words, pattern) \
	[KIND_##symbol] = {classes, words, pattern},
    KINDS(KIND_X)
#undef KIND_X
};

enum kind
kind_of_cause(enum tale_cause cause)
{
	static const enum kind kinds[] = {
#define TALE_X(symbol, code, label, kind, ...) \
	[TALE_CAUSE_##symbol] = KIND_##kind,
	    TALE_CAUSES(TALE_X)
#undef TALE_X
	};

	return kinds[cause];
}

enum kind
kind_of_bar(const struct story_bar *b)
{
	switch (b->kind) {
	case STORY_BAR_STAGE:
		return KIND_STAGE;
	case STORY_BAR_WORK:
		return KIND_WORK;
	case STORY_BAR_DELAY:
		return kind_of_cause(b->cause);
	case STORY_BAR_OTHER:
		return KIND_OTHER;
	case STORY_BAR_REQUEST:
		return KIND_REQUEST;
	case STORY_BAR_HOLDER:
		return b->cause == TALE_CAUSE_WORK ? KIND_HOLDER
						   : kind_of_cause(b->cause);
	case STORY_BAR_BLIND:
		break;
	}
	return KIND_UNSEEN;
}

const char *
bar_name(const struct story_bar *b)
{
	if (b->name[0] != '\0')
		return b->name;
	return b->kind == STORY_BAR_BLIND ? tale_cause_label(TALE_CAUSE_BLIND)
					  : tale_cause_label(b->cause);
}

const char *
kind_class(enum kind kind)
{
	return rows[kind].classes;
}

const char *
kind_words(enum kind kind)
{
	return rows[kind].words;
}

bool
kind_is_wait(enum kind kind)
{
	return kind >= KIND_QUEUE;
}

void
kind_patterns(struct text *x)
{
	for (unsigned i = 0; i < KIND_COUNT; i++)
		if (rows[i].pattern[0] != '\0')
			text_add(x,
			    "<pattern id=\"p%u\" class=\"%s\" width=\"8\" "
			    "height=\"8\" patternUnits=\"userSpaceOnUse\">"
			    "<path d=\"%s\"/></pattern>",
			    i, rows[i].classes, rows[i].pattern);
}

void
kind_box(struct text *x, enum kind kind, double left, double top, double width,
    double height)
{
	text_add(x,
	    "<rect class=\"body\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
	    "height=\"%.0f\"/>",
	    left, top, width, height);
	if (rows[kind].pattern[0] != '\0')
		text_add(x,
		    "<rect class=\"cue\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
		    "height=\"%.0f\" fill=\"url(#p%u)\"/>",
		    left, top, width, height, (unsigned)kind);
}
