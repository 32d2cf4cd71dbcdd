/* say.h: the parts of a sentence.  Private to talechain/. */
#pragma once

#include "base/text.h"
#include "talechain/claims/explainer.h"
#include "talechain/words/words.h"

/* Fill in the story's words, after its claims are made: the name of each
 * segment, the verdict, its evidence and advice. */
void words_write(struct explainer *ex);

/* --- names.c --- */

#define PAUSE_WORDS 80

/* "server a"; returns out. */
char *server_name(const struct explainer *ex, int server, char out[NAME_SIZE]);
/* The same for an attempt's server. */
char *
attempt_name(const struct explainer *ex, int attempt, char out[NAME_SIZE]);
/* Server and threads of a segment: "a: qtp-12 behind stress-ng". */
void claim_who(
    const struct explainer *ex, const struct claim *c, char *out, size_t size);
/* "collecting garbage (allocation)", after "was"; or if it begins, "began to
 * collect garbage (allocation)".  Returns out. */
char *
pause_words(const struct tale_pause *p, bool begins, char out[PAUSE_WORDS]);
/* "server a's thread qtp-12", "Tailor"; returns out. */
char *claim_subject(
    const struct explainer *ex, const struct claim *c, char *out, size_t size);
/* Owner of a thread: "a", "Tailor", "make[30]", or "" if no event shows it. */
void
thread_owner(const struct explainer *ex, uint32_t tid, char *out, size_t size);
/* "server a's compiler thread C2 CompilerThre[12]", "stress-ng[777]"; returns
 * out. */
char *
thread_owned(const struct explainer *ex, uint32_t tid, char *out, size_t size);

/* --- parts of sentences, appended to a phrase --- */

/* Room for one line of text: terminated, never overrun. */
struct phrase {
	char *at; /* borrowed */
	size_t size;
};

/* Append, printf-like; what does not fit is cut. */
#define phrase_add(p, ...) text_append((p)->at, (p)->size, __VA_ARGS__)

/* "server a responded in 12.0 ms", of an attempt. */
void say_response(const struct explainer *ex, const struct phrase *l, int i);
/* " in futex" for a claim's wait, and " (3.0 ms of it)" if only that part of
 * the cause's time was in this call. */
void say_call(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* " (3.0 ms of it)" if only that part of the cause's time was behind the
 * claim's other threads; false: as good as all of it. */
bool say_part_of_other(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* The same for the softirq, or for what ended the sleep, if that is half of it
 * at most. */
void say_part_of_kind(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* "2 others", after " and ": threads in the way of the claim's thread that the
 * sentence does not name; nothing if there are none. */
void say_others(const struct explainer *ex, const struct claim *c,
    const char *after, const struct phrase *l);
/* " stress-ng[777] (3.0 ms of it) and 2 others": the threads that had the CPU
 * for which a claim's thread waited. */
void say_behind(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* " CPU 1 (3.0 ms of it)", " with request 00ab... (3.0 ms of it)". */
void say_cpu(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
void say_request(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* True if most of a cause's time is of the claim's thread, or server. */
bool subject_is_most(const struct explainer *ex, const struct claim *c);
/* " until bytes came from 10.0.0.5:5432": the peer for which a claim's thread
 * waited.  False: the peer is not known, and nothing is appended. */
bool say_peer(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* Append the stack in which a segment's thread waited; false: there is none. */
bool
say_stack(const struct explainer *ex, size_t segment, const struct phrase *l);
/* Append where samples found the thread of a claim computing; false: there are
 * none. */
bool say_samples(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* ", mostly in Ruby's collector (8 of 10 samples of its stack)": where most
 * samples found the thread of a claim computing in a collector. */
void say_collector(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* " Meanwhile postgres[4711], which sent them, computed for 3.0 of 3.2 ms.":
 * the thread of another process that ended a claim's sleep, and what it did
 * meanwhile, or why that is not known; nothing if no such thread is known. */
void say_sender(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* "waited in futex for a lock, held by x, ...": a wait for another thread, and
 * what that thread did meanwhile. */
void say_lock(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);
/* " until x woke it, which slept until ...": a wait for a thread that slept
 * until timers woke it. */
void say_timer(
    const struct explainer *ex, const struct claim *c, const struct phrase *l);

/* --- ending.c: requests that did not end normally --- */

/* Append what ended a request, and why no more was tried; false: it ended
 * normally, and nothing is appended. */
bool say_ending(const struct explainer *ex, const struct phrase *l);
/* True if a request's time at its servers is worth a sentence, too. */
bool ending_has_way(const struct tale *t);
/* Write what can be done about such an end, static texts; returns how many. */
#define ENDING_ADVICE 2
unsigned
ending_advice(const struct explainer *ex, const char *out[ENDING_ADVICE]);

/* evidence.c: why the verdict of a cause is what it is. */
void evidence_write(struct explainer *ex, enum tale_cause cause);
