/*
 * script.h: scenarios for the policy, as text.
 *
 * A script is steps separated by ';' or newlines, "words => result".  Time
 * stands still between steps; "wait 5ms" moves it.  What a step returns is
 * compared with the text after "=>", if there is one.
 *
 *   set KEY VALUE        a limit, before the first other step (or "reload")
 *   ready                both servers READY without warm-up, 0 active
 *   connecting S | up S [cold] | down S | begin S KIND | end S KIND
 *                        cold: without warm-up
 *   begin S KIND [AGO|over]   it began so long ago, or has ended already
 *   begin S KIND left TIME    its end is known
 *   pause S KIND LENGTH [N]   N whole ones, a second apart
 *   switch | tick | drain S | drained S    => actions, as "swap,sweep"
 *   withdraw S           => actions
 *   choose               => S, "S hedged" (at once), "full", "unavailable"
 *   overflow             => S or "no"
 *   removed              the active one is; => actions
 *   again R              choose for one in the queue => as choose
 *   other R              => yes|no, the other server could answer it
 *   probed S [silent]    => actions, or "unwanted"
 *   aside R I, rewrite R => yes|no
 *   due S AGO            => yes|no, a collection of S since then
 *   start R S TRIGGER    request R (a letter) begins an attempt on server S
 *   view R WORD..        what the proxy says of R; see script.c
 *   ask R TRIGGER        => "yes S" or the refusal
 *   hedge R TRIGGER      ask, and start the attempt if allowed
 *   head R I STATUS | ended R I END [LATENCY] [unwritten]  => step
 *   commit R I => yes|no; cut R I; abandon R; idle R => yes|no
 *   overtake R I => yes|no, another attempt may give the response
 *   rival R I => yes|no, another attempt runs
 *   finish [N]           N requests leave the table
 *   answer S LATENCY [N [STATUS]]   N whole requests, each 200 after LATENCY
 *   late S AGO N           deadlines of N requests, written so long ago
 *   warm S => N in MS, what is due and in how long; warmed S N LATENCY;
 *   warmfail S N           N warm-up requests sent and answered
 *   pushback S TIME | timer S => US or "off"
 *   ? NAME [S]           a field; see script.c
 */
#pragma once

#include "tests/unit/unit.h"

/* As many as a second may have (B3). */
#define SWAPS_5 "switch; switch; switch; switch; switch;"
#define SWAPS SWAPS_5 SWAPS_5 SWAPS_5 SWAPS_5

struct scenario {
	const char *rule; /* which rule, in a few words */
	const char *script;
};

/* Run one; a result that differs fails the test with rule and step. */
void scenario_run(const struct scenario *s);

/* A test that runs all of a table. */
void scenarios_run(const struct scenario *s, size_t count);
#define TEST_SCENARIOS(name, table)                                       \
	TEST(name)                                                        \
	{                                                                 \
		scenarios_run(table, sizeof(table) / sizeof((table)[0])); \
	}                                                                 \
	struct scenario /* takes the semicolon */
