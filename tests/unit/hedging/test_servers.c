/* Goal: the table of both servers, life cycle, swaps, storms and warm-up. */
#include "tests/unit/hedging/script.h"

/* The rows of the table "Both servers": active, other. */
static const struct scenario rows[] = {
    {"hazard, ready: swap first, then sweep",
	"ready; start a 0; begin 0 gc => swap,sweep; choose => 1\n"
	"hedge a gc => yes 1"},
    {"hazard, hazard: stay; again when the other clears",
	"ready; start a 0; begin 1 gc => nothing; begin 0 gc => nothing\n"
	"choose => 0; ask a gc => backup_not_ready\n"
	"end 1 gc => swap,sweep; choose => 1; hedge a gc => yes 1"},
    {"hazard, hazard: stay when the active clears first",
	"ready; begin 1 gc; begin 0 gc; end 0 gc => nothing; choose => 0\n"
	"end 1 gc => nothing; choose => 0"},
    {"hazard, hazard of a kind that triggers nothing: still not a target",
	"set triggers 1; ready; begin 1 safepoint => nothing\n"
	"begin 0 gc => nothing; choose => 0; end 1 safepoint => swap,sweep"},
    {"hazard, warming: stay until the override, and be hedged there",
	"ready; down 1; up 1 => warmup; start a 0; begin 0 gc => sweep\n"
	"? swaps_refused => 1; hedge a gc => yes 1; choose => 0 hedged\n"
	"start b 0; hedge b gc => yes 1\n"
	"wait 499ms; tick => warmup; choose => 0 hedged\n"
	"wait 1ms; tick => swap,sweep; choose => 1; ? state 1 => ready"},
    {"hazard, warming: nothing more when the hazard is over",
	"ready; down 1; up 1; start a 0; begin 0 gc => sweep; end 0 gc\n"
	"choose => 0; ask a gc => pause_over"},
    {"hazard of a kind that triggers nothing, warming: nothing",
	"set triggers 1; ready; down 1; up 1; start a 0\n"
	"begin 0 safepoint => nothing; choose => 0"},
    {"hazard, warming: what is not to be repeated stays",
	"ready; down 1; up 1; start a 0; view a unsafe; begin 0 gc => sweep\n"
	"ask a gc => method; choose => 0 hedged"},
    {"hazard, warming: a late answer is no reason to ask the cold one",
	"set timer 1; ready; down 1; up 1; start a 0\n"
	"ask a timer => backup_not_ready"},
    {"hazard, warming: no more than the limit; the warm-up waits, too",
	"set conns1 2; ready; down 1; up 1; warm 1 => 1 in 2ms\n"
	"start a 0; start b 0; start c 0; begin 0 gc => sweep\n"
	"hedge a gc => yes 1; hedge b gc => yes 1\n"
	"ask c gc => inflight_limit; wait 2ms; warm 1 => 0 in 2ms\n"
	"ended a 1 failed; warm 1 => 1 in 2ms"},
    {"hazard, warming with all its connections in use: stay",
	"set conns1 1; ready; down 1; up 1; warmsent 1; start a 0\n"
	"begin 0 gc => nothing; choose => 0"},
    {"hazard, warming and itself stopped: no override",
	"ready; down 1; up 1; start a 0; begin 1 gc; begin 0 gc => nothing\n"
	"wait 600ms; tick => warmup; choose => 0; ? state 1 => warming\n"
	"end 1 gc => swap,sweep"},
    {"hazard, warming, stopped, going on before the override",
	"ready; down 1; up 1; start a 0; begin 1 gc; begin 0 gc => nothing\n"
	"wait 100ms; end 1 gc => sweep,warmup; hedge a gc => yes 1"},
    {"hazard, warming: after the override no swap back (T5)",
	"ready; down 1; up 1; begin 0 gc; wait 500ms; tick => swap,sweep\n"
	"end 0 gc => nothing; tick => nothing; choose => 1"},
    {"hazard, connecting: stay",
	"ready; down 1; connecting 1; begin 0 gc => nothing; choose => 0\n"
	"wait 900ms; tick => nothing; choose => 0"},
    {"hazard, down: stay",
	"ready; start a 0; down 1; begin 0 gc => nothing; choose => 0\n"
	"ask a gc => backup_not_ready; wait 900ms; tick => nothing"},
    {"hazard, down: the other returns while the hazard lasts",
	"ready; start a 0; down 1; begin 0 gc; connecting 1 => nothing\n"
	"up 1 => warmup; tick => sweep,warmup; hedge a gc => yes 1\n"
	"wait 500ms; tick => swap,sweep; choose => 1"},
    {"down, ready: swap",
	"ready; start a 0; down 0 => swap,sweep; choose => 1\n"
	"hedge a exit => yes 1"},
    {"down, ready: swap even if exits are no trigger",
	"set triggers 1; ready; begin 0 exit => swap,sweep; choose => 1"},
    {"silent: swap; only a response ends it",
	"ready; start a 0\n"
	"begin 0 unresponsive => swap,sweep; ask a unresponsive => yes 1\n"
	"? trigger 0 => unresponsive; wait 99s; tick; ? hazards 0 => 8\n"
	"begin 1 gc => nothing; end 1 gc => sweep\n"
	"end 0 unresponsive => nothing; ? hazards 0 => 0"},
    {"silent, and no trigger", "set triggers 7; ready\n"
			       "begin 0 unresponsive => nothing; choose => 0"},
    {"down, hazard: swap, requests queue in its sockets",
	"ready; start a 0; begin 1 gc; down 0 => swap,sweep; choose => 1\n"
	"ask a exit => backup_not_ready; ended a 0 failed => try 1"},
    {"down, warming: somebody has to serve",
	"ready; down 1; up 1; start a 0; down 0 => swap,sweep; choose => 1\n"
	"? state 1 => ready; ended a 0 failed => try 1"},
    {"down, connecting, then up",
	"ready; down 1; connecting 1; down 0 => nothing\n"
	"choose => unavailable; up 1 => swap,sweep; choose => 1"},
    {"down, down", "ready; start a 0; down 1 => nothing; down 0 => nothing\n"
		   "choose => unavailable; ended a 0 failed => give up"},
    {"down, down: the active returns first",
	"ready; down 1; down 0; connecting 0; up 0 => nothing; choose => 0\n"
	"? state 0 => ready; up 1 => warmup; choose => 0"},
    {"a port that is tried again serves nobody",
	"ready; connecting 0 => swap,sweep; choose => 1; ? trigger 0 => exit"},
    {"no swap back when the hazard ends (T5)",
	"ready; begin 0 gc => swap,sweep; end 0 gc => nothing; choose => 1\n"
	"wait 1s; tick => nothing; choose => 1; begin 1 gc => swap,sweep"},
    {"a hazard of the backup moves nothing",
	"ready; begin 1 gc => nothing; end 1 gc => nothing; choose => 0"},
    {"requests left on a backup that stops again are looked at",
	"ready; start a 0; begin 0 gc => swap,sweep; end 0 gc\n"
	"begin 0 gc => sweep; hedge a gc => yes 1"},
    {"requests left on a stopped backup, the active was stopped too",
	"ready; start a 0; begin 1 safepoint; begin 0 gc; end 1 safepoint\n"
	"begin 1 gc => nothing; end 1 gc => sweep"},
    {"withdrawn: what is in flight there stays, but for a pause of its own",
	"ready; start a 0; switch; withdraw 0 => nothing; ? state 0 => down\n"
	"begin 1 gc => nothing; end 1 gc => nothing; ask a exit => pause_over\n"
	"begin 0 gc => sweep; hedge a gc => yes 1; end 0 gc\n"
	"? trigger 0 => first; down 0 => nothing; ? trigger 0 => exit"},
    {"withdrawn while it was down, or lost afterwards: as one that is down",
	"ready; start a 0; down 0; withdraw 0 => nothing; ? trigger 0 => exit\n"
	"up 0; withdraw 0; ? trigger 0 => first; begin 0 exit => nothing\n"
	"? trigger 0 => exit"},
};

TEST_SCENARIOS(test_both_servers, rows);

static const struct scenario life[] = {
    {"at the start nobody serves",
	"choose => unavailable; ? state 0 => down; ? active => 0"},
    {"the first to answer serves, cold",
	"connecting 0; connecting 1; up 1 => swap,sweep; ? state 1 => ready\n"
	"up 0 => warmup; ? state 0 => warming; choose => 1"},
    {"without a warm-up: ready at once", "ready; down 1; up 1 cold => nothing;"
					 "? state 1 => ready"},
    {"no warm-up configured", "set warmup 0; ready; down 1; up 1 => nothing;"
			      "? state 1 => ready"},
    {"a collection is due: it was seen to collect, not since then",
	"ready; due 1 1s => no; wait 1s; begin 1 safepoint; end 1 safepoint\n"
	"due 1 1s => no; begin 1 gc; due 1 1s => no; wait 10ms\n"
	"end 1 gc; due 1 10ms => no; due 1 9ms => yes; wait 5s\n"
	"due 1 2s => yes; begin 1 gc; due 1 2s => yes; wait 10ms\n"
	"due 1 2s => yes; end 1 gc; due 1 2s => no; down 1; up 1\n"
	"due 1 10ms => no; wait 1s; due 1 1s => yes"},
    {"a warming server gets no client's request without a hazard",
	"ready; down 1; up 1; choose => 0; start a 0; ask a gc => pause_over\n"
	"ask a timer => backup_not_ready"},
    {"the active one is removed: the other is active, ready or not",
	"set act 0; ready; down 0 => nothing; choose => unavailable\n"
	"removed => swap; choose => 1; down 1; removed => swap; ? active => 0"},
    {"events that change nothing",
	"ready; up 0 => nothing; down 1; down 1 => nothing; connecting 1;\n"
	"connecting 1 => nothing; up 1 => warmup; up 1 => nothing"},
    {"exit means down; its end means a process, not a port",
	"ready; begin 1 exit => nothing; ? state 1 => down\n"
	"end 1 exit => nothing; ? state 1 => down; ? hazards 1 => 0"},
    {"who answers is not gone",
	"ready; begin 1 exit; up 1 => warmup; ? hazards 1 => 0\n"
	"end 1 exit => nothing"},
    {"a dead process's pause does not outlive it",
	"ready; begin 1 gc; begin 1 exit; end 1 exit; up 1 cold\n"
	"? hazards 1 => 0; begin 0 gc => swap,sweep"},
    {"nor one that only we know to be dead",
	"ready; begin 1 gc; down 1; ? hazards 1 => 0"},
    {"a new process begins without hazards",
	"ready; begin 1 exit; begin 1 gc; end 1 exit; ? hazards 1 => 0"},
    {"begin and end once each, in any order of arrival (9)",
	"ready; end 0 gc => nothing; begin 0 gc => swap,sweep\n"
	"begin 0 gc => nothing; end 0 gc; end 0 gc => nothing\n"
	"begin 0 gc => nothing; ? hazards 0 => 1"},
    {"kinds overlap; the oldest counts",
	"ready; down 1; begin 0 safepoint; wait 30ms; begin 0 gc\n"
	"? hazard_ms 0 => 30; ? trigger 0 => gc; end 0 safepoint\n"
	"? hazard_ms 0 => 0; ? hazards 0 => 1; end 0 gc\n"
	"? hazard_ms 0 => -1; ? trigger 0 => first"},
    {"a hazard begins when it happened, not when it was seen",
	"ready; begin 1 gc 7ms; ? hazard_ms 1 => 7"},
    {"records out of range", "ready; begin 2 gc => nothing; begin 255 gc;"
			     "begin 0 6 => nothing; begin 0 200 => nothing;"
			     "? hazards 0 => 0; choose => 0"},
    {"an end that was lost is believed for a minute",
	"ready; begin 1 gc; wait 59s; tick; ? hazards 1 => 1; wait 1s; tick\n"
	"? hazards 1 => 0; ? expired => 1; begin 0 gc => swap,sweep"},
    {"an exit does not expire",
	"ready; begin 1 exit; wait 90s; tick; ? hazards 1 => 4"},
    {"nor does a stop; a quota does",
	"ready; begin 1 stopped; wait 90s; tick; ? hazards 1 => 32\n"
	"end 1 stopped; begin 1 quota; wait 90s; tick; ? hazards 1 => 0"},
    {"a quota that is used up is a trigger",
	"ready; start a 0; begin 0 quota => swap,sweep\n"
	"? trigger 0 => quota; hedge a quota => yes 1; end 0 quota"},
    {"so is a stop", "ready; start a 0; begin 0 stopped => swap,sweep\n"
		     "? trigger 0 => stopped; hedge a stopped => yes 1"},
    {"safepoints alone are a trigger",
	"ready; start a 0; begin 0 safepoint => swap,sweep\n"
	"hedge a safepoint => yes 1"},
    {"a kind that is not configured is tracked only",
	"set triggers 4; ready; start a 0; begin 0 gc => nothing\n"
	"choose => 0; ? hazards 0 => 1; ? trigger 0 => first\n"
	"ask a gc => pause_over"},
};

TEST_SCENARIOS(test_life_cycle, life);

static const struct scenario alone[] = {
    {"watch: never swap, never hedge, no warm-up",
	"set act 0; ready; start a 0; begin 0 gc => nothing; choose => 0\n"
	"? hazards 0 => 1; ask a gc => watching; end 0 gc => nothing\n"
	"begin 0 exit => nothing; choose => unavailable\n"
	"ended a 0 failed => give up; up 0 => nothing; ? state 0 => ready\n"
	"wait 9s; tick => nothing; ? swaps => 0; timer 0 => off"},
    {"watch: an operator may still switch",
	"set act 0; ready; switch => swap; choose => 1"},
    {"watch: a warm-up under way is over at the next look",
	"ready; down 1; up 1; set act 0; reload; tick => nothing\n"
	"? state 1 => ready"},
    {"from watch to act: what is due happens at the next tick",
	"set act 0; ready; begin 0 gc => nothing; set act 1; reload\n"
	"tick => swap,sweep"},
    {"one server: nothing to choose",
	"set servers 1; ready; start a 0; begin 0 gc => nothing\n"
	"choose => 0; ask a gc => backup_not_ready\n"
	"ended a 0 failed unwritten => restart; switch => nothing\n"
	"down 0; choose => unavailable; up 0 => nothing; choose => 0"},
    {"one server left by a reload",
	"ready; switch => swap; set servers 1;"
	"reload; choose => 0; begin 1 gc=> nothing"},
    {"switch: not to a server that cannot serve",
	"ready; switch => swap; begin 0 gc; switch => nothing; end 0 gc\n"
	"switch => swap; down 1; switch => nothing; up 1; switch => nothing"},
    {"a full active server: wait, do not overflow",
	"set conns0 2; ready; start a 0; choose => 0; start b 0\n"
	"choose => full; ended a 0 failed; choose => 0"},
    {"draining and warm-up connections are in use too",
	"set conns0 2; ready; drain 0; choose => 0; drain 0; choose => full\n"
	"drained 0; choose => 0"},
};

TEST_SCENARIOS(test_watching_and_choosing, alone);

static const struct scenario settling[] = {
    {"not again active while its losers run (L8)",
	"set conns0 20; ready; answer 0 20ms 100; answer 1 20ms 100\n"
	"begin 0 gc => swap,sweep; drain 0; drain 0; end 0 gc\n"
	"start a 1; begin 1 gc => nothing; choose => 1\n"
	"ask a gc => backup_not_ready\n"
	"drained 0 => swap,sweep; choose => 0; hedge a gc => yes 0"},
    {"but not longer than twice its p99",
	"ready; answer 0 20ms 100; begin 0 gc; drain 0; end 0 gc\n"
	"begin 1 gc => nothing; wait 39ms; tick => nothing; choose => 1\n"
	"wait 1ms; tick => swap,sweep; choose => 0"},
    {"and at least a millisecond",
	"ready; begin 0 gc; drain 0; end 0 gc; begin 1 gc => nothing\n"
	"wait 999us; tick => nothing; wait 1us; tick => swap,sweep"},
    {"a death does not wait for it",
	"ready; answer 0 20ms 100; begin 0 gc; drain 0; end 0 gc\n"
	"down 1 => swap,sweep; choose => 0"},
    {"losers without a hazard do not count against it",
	"ready; answer 0 20ms 100; switch; drain 0; begin 1 gc => swap,sweep"},
    {"an active server need not settle to take hedges",
	"ready; answer 0 20ms 100; start a 1; begin 0 gc; drain 1; end 0 gc\n"
	"drain 0; begin 1 gc => nothing; end 1 gc; start b 0; begin 0 gc\n"
	"hedge b gc => yes 1"},
};

TEST_SCENARIOS(test_settling, settling);

static const struct scenario storms[] = {
    {"more swaps in a second than allowed: keep swapping, stop hedging",
	"ready; start a 0;" SWAPS
	"wait 999ms; switch => swap,storm; ? storms => 1\n"
	"start b 1; begin 1 gc => swap,sweep; ask b gc => storm\n"
	"wait 999ms; ask b gc => storm; wait 1ms; ask b gc => yes 0"},
    {"a second later it is none",
	"ready;" SWAPS "wait 1s; switch => swap; ? storms => 0"},
    {"logged once, and longer while it lasts",
	"ready;" SWAPS "switch => swap,storm; wait 900ms\n"
	"start a 1; switch => swap; begin 1 gc; wait 900ms; ask a gc => storm\n"
	"wait 100ms; ask a gc => yes 0; ? storms => 1"},
    {"a second storm is logged again",
	"ready;" SWAPS "switch => swap,storm; wait 1s\n" SWAPS
	"switch => swap,storm; ? storms => 2"},
    {"a hedge refused by a storm is looked at again",
	"ready; start a 1;" SWAPS "switch => swap,storm\n"
	"begin 1 gc => swap,sweep; ask a gc => storm; wait 1s\n"
	"tick => sweep; ask a gc => yes 0"},
};

TEST_SCENARIOS(test_storms, storms);

#define MARKING "set triggers 65; ready;" /* and gc */

static const struct scenario markings[] = {
    {"T10 its server is left, what is in flight stays",
	MARKING "start a 0; begin 0 marking => swap; choose => 1\n"
		"ask a gc => pause_over; end 0 marking => nothing"},
    {"T10 not if nothing is to be done about it",
	"set triggers 1; ready; begin 0 marking => nothing"},
    {"T10 nor when we only watch",
	"set act 0;" MARKING "begin 0 marking => nothing"},
    {"T10 both: the first that ends it serves",
	MARKING "begin 1 marking => nothing; begin 0 marking => nothing\n"
		"tick => nothing; end 1 marking => swap; choose => 1"},
    {"T10 a server that marks is better than one that stands still",
	MARKING "begin 1 marking => nothing; begin 0 gc => swap,sweep"},
    {"T10 but not the other way round",
	MARKING "begin 1 gc => nothing; begin 0 marking => nothing\n"
		"end 1 gc => swap"},
    {"T10 a new process does not mark",
	MARKING "begin 1 marking; down 1; up 1 cold; begin 0 marking => swap"},
    {"T10 nor one whose end is missing for a minute",
	MARKING "begin 1 marking; wait 60s; tick => nothing\n"
		"begin 0 marking => swap"},
};

TEST_SCENARIOS(test_marking, markings);

static const struct scenario warmups[] = {
    {"as many as concurrency, then at the rate",
	"ready; down 1; up 1 => warmup; warm 1 => 1 in 2ms; warmsent 1\n"
	"warm 1 => 0 in 2ms; wait 2ms; warm 1 => 1 in 2ms; warmsent 1\n"
	"wait 2ms; warm 1 => 0 in 2ms; wait 18ms; warm 1 => 0 in 2ms"},
    {"unused turns pile up to one concurrency",
	"ready; down 1; up 1; wait 1s; warm 1 => 2 in 2ms"},
    {"and are used once",
	"ready; down 1; up 1; wait 1s; warm 1 => 2 in 2ms; warmed 1 2 5ms\n"
	"warm 1 => 0 in 2ms; wait 1ms; warm 1 => 0 in 1ms; wait 1ms\n"
	"warm 1 => 1 in 2ms"},
    {"a late warm-up answer of a former life",
	"ready; down 1; up 1; down 1; warmed 1 1 5ms => nothing\n"
	"? p50_us 1 => 0"},
    {"the p95 of a former life",
	"ready; answer 0 2ms 100; down 1; up 1; warmed 1 64 9ms; down 1\n"
	"up 1; warmed 1 10 2ms; ? state 1 => ready"},
    {"none while it is stopped, again when it goes on",
	"ready; down 1; up 1; begin 1 gc => nothing; warm 1 => 0 in 2ms\n"
	"end 1 gc => warmup; warm 1 => 1 in 2ms"},
    {"none for a server that is not warming", "ready; warm 1 => 0"},
    {"its connections have a limit too",
	"set conns1 1; ready; down 1; up 1; wait 1s\n"
	"warm 1 => 1 in 2ms"},
    {"enough of them: ready",
	"ready; down 1; up 1; warmed 1 9 5ms => warmup; ? state 1 => warming\n"
	"warmed 1 1 5ms => nothing; ? state 1 => ready; choose => 0"},
    {"enough of them, while the active is stopped: swap",
	"ready; start a 0; down 1; up 1; begin 0 gc; warmed 1 10 5ms\n"
	"choose => 1; ? swaps => 1"},
    {"failures are not answers",
	"ready; down 1; up 1; warmfail 1 5 5ms => warmup\n"
	"? state 1 => warming; warmed 1 10 5ms; ? state 1 => ready"},
    {"not before its p95 is near the active's",
	"ready; answer 0 2ms 100; down 1; up 1; warmed 1 60 4ms => warmup\n"
	"? state 1 => warming; warmed 1 60 3ms => warmup; warmed 1 1 3ms;\n"
	"? state 1 => ready"},
    {"but not for ever",
	"ready; answer 0 2ms 100; down 1; up 1; warmed 1 60 9ms; wait 9999ms\n"
	"tick => warmup; wait 1ms; tick => nothing; ? state 1 => ready"},
    {"a second restart begins anew (17)",
	"ready; down 1; up 1; warmed 1 9 5ms; warmsent 1; down 1; up 1\n"
	"warmed 1 1 5ms; ? state 1 => warming; warmed 1 9 5ms;\n"
	"? state 1 => ready"},
    {"the active dies during the warm-up: serve, stop warming",
	"ready; down 1; up 1; warmsent 1; down 0; ? state 1 => ready\n"
	"warm 1 => 0"},
    {"warm-up answers are known latencies",
	"ready; down 1; up 1; ? p50_us 1 => 0; warmed 1 10 5ms;\n"
	"? p50_us 1 => 5000"},
};

TEST_SCENARIOS(test_warm_up, warmups);

static const struct scenario mirrors[] = {
    {"one copy for so many requests, told by the tick, sent once",
	"set mirror 0.25; ready; finish 3; tick => nothing; warm 1 => 0\n"
	"finish; tick => warmup; warm 1 => 1; warm 0 => 0; warmsent 1\n"
	"warm 1 => 0; tick => nothing; finish 3; tick => nothing; finish\n"
	"tick => warmup; warm 1 => 1"},
    {"off", "ready; finish 1000; tick => nothing; warm 1 => 0"},
    {"so many at a time, however many are due",
	"set mirror 1; ready; finish 100; warm 1 => 2; warmsent 1\n"
	"warm 1 => 1; warmsent 1; warm 1 => 0; finish 100; warm 1 => 0"},
    {"what was not used makes no burst when there is room again, either",
	"set mirror 1; ready; finish 100; warmed 1 2 5ms; warm 1 => 0"},
    {"also if the other one is the backup",
	"set mirror 1; ready; switch => swap; finish; warm 1 => 0\n"
	"warm 0 => 1"},
    {"not while it is stopped, or has losers to execute",
	"set mirror 1; ready; finish 4; drain 1; begin 1 gc => nothing\n"
	"tick => nothing; warm 1 => 0; end 1 gc => nothing; wait 900us\n"
	"tick => nothing; wait 1ms; tick => warmup; warm 1 => 2"},
    {"hedges go first",
	"set mirror 1; ready; start a 0; start b 0; finish 9; warm 1 => 2\n"
	"begin 0 gc => swap,sweep; hedge a gc => yes 1; hedge b gc => yes 1\n"
	"warm 1 => 0"},
    {"not to one that is down, nor when we only watch",
	"set mirror 1; set act 0; ready; finish 9; tick => nothing\n"
	"warm 1 => 0; set act 1; reload; warm 1 => 2; down 1; warm 1 => 0"},
    {"its answers are known latencies, failures are not",
	"set mirror 1; ready; finish 9; warmed 1 1 5ms => nothing\n"
	"? p50_us 1 => 5000; warmfail 1 9 1ms; ? p50_us 1 => 5000"},
    {"that is no warm-up: the next one needs all of its own",
	"set mirror 1; ready; finish 9; warmed 1 9 5ms; down 1; up 1\n"
	"warmed 1 9 5ms => warmup; ? state 1 => warming"},
};

TEST_SCENARIOS(test_mirror, mirrors);
