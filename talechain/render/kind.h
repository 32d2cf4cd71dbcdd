/* kind.h: kinds of bars and of pieces of the time, as they are drawn.
 *
 * One table for the picture, the page and the legend.  page/picture.css gives
 * each class its colour; for readers who cannot distinguish the colours there
 * are a pattern and words, too.  Private to this folder. */
#pragma once

#include "talechain/render/markup.h"

/* Symbol, classes, words of the legend, pattern: a path in a square of 8, ""
 * none.  Waits are of the class delay and come last. */
#define KINDS(X)                                                               \
	X(UNSEEN, "unseen", "not explained or not observed", "M1 2H3M5 6H7")   \
	X(STAGE, "stage", "request in progress", "")                           \
	X(WORK, "work", "work on this request", "")                            \
	X(REQUEST, "request", "another request", "M0 7H8")                     \
	X(HOLDER, "holder", "work of the thread that is waited for", "M0 2H8") \
	X(OTHER, "other", "others' work on that CPU", "")                      \
	X(TRANSIT, "transit", "on its way in the network", "")                 \
	X(QUEUE, "delay k-queue", "in a queue", "M0 4H8")                      \
	X(CPU, "delay k-cpu", "without a CPU", "M-1 9L9 -1")                   \
	X(LOCK, "delay k-lock", "for another thread", "M-1 9L9 -1M-1 -1L9 9")  \
	X(SLEEP, "delay k-sleep", "asleep", "M0 4H3")                          \
	X(MEMORY, "delay k-memory", "for disk or memory", "M4 0V8")            \
	X(PAUSE, "delay k-pause", "collection, safepoint, classes",            \
	    "M-1 -1L9 9")                                                      \
	X(STOP, "delay k-stop", "stopped or not running", "M4 0V8M0 4H8")      \
	X(TCP, "delay k-tcp", "held by TCP", "M0 6L4 2L8 6")                   \
	X(CLIENT, "delay k-client", "for the client", "M2 0V8M5 0V8")          \
	X(SWITCHED, "delay k-switched", "until sent again", "M1 1V4M5 5V8")

enum kind {
#define KIND_X(symbol, classes, words, pattern) KIND_##symbol,
	KINDS(KIND_X)
#undef KIND_X
	    KIND_COUNT
};

/* How a cause, or a bar, is drawn. */
enum kind kind_of_cause(enum tale_cause cause);
enum kind kind_of_bar(const struct story_bar *b);

/* Title of a bar: its own name, else its cause's label; not escaped. */
const char *bar_name(const struct story_bar *b);

/* "delay k-lock", "for another thread"; static text. */
const char *kind_class(enum kind kind);
const char *kind_words(enum kind kind);

/* True if the request, or a thread, waits. */
bool kind_is_wait(enum kind kind);

/* The patterns of all kinds, as definitions of a picture. */
void kind_patterns(struct text *x);

#define KIND_KEY 16 /* width of a box in a list */

/* A rectangle of a kind; the element around it has the class. */
void kind_box(struct text *x, enum kind kind, double left, double top,
    double width, double height);
