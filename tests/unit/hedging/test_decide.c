/* Goal: every reason to refuse a hedge, and each one's absence. */

#include "hedging/hedging.h"
#include "tests/unit/hedging/script.h"

/* The active, 0, stops while it works on a. */
#define STOPPED "ready; start a 0; begin 0 gc\n"

static const struct scenario eligibility[] = {
    {"all rules hold", STOPPED "ask a gc => yes 1"},
    {"E1 method", STOPPED "view a unsafe; ask a gc => method"},
    {"E2 body not complete",
	STOPPED "view a uploading; ask a gc => body_incomplete"},
    {"E2 body not kept", STOPPED "view a big; ask a gc => body_size"},
    {"E3 upgrade", STOPPED "view a upgrade; ask a gc => upgrade"},
    {"E4 committed", STOPPED "head a 0 200; commit a 0 => yes\n"
			     "ask a gc => committed"},
    {"E4 a head alone is no commit: a GC may start before the body (12)",
	STOPPED "head a 0 200; ask a gc => yes 1"},
    {"E4 a lone 5xx is the answer",
	STOPPED "head a 0 503 => collect; ask a gc => committed"},
    {"E4 so is a status that is none",
	STOPPED "head a 0 42; ask a gc => committed"},
    {"E5 two attempts at most", STOPPED
	"hedge a gc => yes 1; ask a gc => attempts; ended a 0 failed => wait\n"
	"ask a gc => attempts; ask a failure => attempts"},
    {"E6 too late for the other's p50",
	"ready; answer 1 20ms 5; start a 0; begin 0 gc\n"
	"view a 19999us; ask a gc => deadline; view a 20ms; ask a gc => yes 1"},
    {"E6 p50 unknown: any time left will do", STOPPED
	"view a 1us; ask a gc => yes 1; wait 1us; ask a gc => deadline"},
    {"E7 opted out", STOPPED "view a optout; ask a gc => optout"},
    {"E9 another connection is another user's, but after a failure there is "
     "no such connection any more",
	STOPPED "view a private; ask a gc => private; ask a timer => private\n"
		"ended a 0 failed => try 1"},
    {"E8 client gone", STOPPED "view a gone; ask a gc => client_gone"},
    {"reasons that cannot pass come first",
	STOPPED "view a gone unsafe; start a 1; ask a gc => client_gone"},
    {"a refusal leaves the attempt running",
	STOPPED "view a unsafe; ask a gc => method; head a 0 200 => collect\n"
		"commit a 0 => yes; ended a 0 complete 5ms => wait"},
};

/* Whether a response is worth holding back: a short one waits for its end only
 * as long as another could take its place. */
static const struct scenario overtaking[] = {
    {"a hazard may begin", "ready; start a 0; head a 0 200\n"
			   "overtake a 0 => yes"},
    {"not what passes: a busy, pausing or missing backup",
	"ready; start a 0; head a 0 200; begin 1 gc; overtake a 0 => yes\n"
	"down 1; overtake a 0 => yes"},
    {"one server", "set servers 1; ready; start a 0; head a 0 200\n"
		   "overtake a 0 => no"},
    {"watching", "set act 0; ready; start a 0; head a 0 200\n"
		 "overtake a 0 => no"},
    {"a method that is sent once",
	"ready; start a 0; view a unsafe; overtake a 0 => no"},
    {"an upload that is not kept",
	"ready; start a 0; view a big; overtake a 0 => no"},
    {"an upgrade", "ready; start a 0; view a upgrade; overtake a 0 => no"},
    {"opted out", "ready; start a 0; view a optout; overtake a 0 => no"},
    {"both run", STOPPED "hedge a gc; overtake a 0 => yes\n"
			 "overtake a 1 => yes; rival a 0 => yes"},
    {"the other has failed: both are used",
	STOPPED "hedge a gc; ended a 1 failed => wait\n"
		"overtake a 0 => no; rival a 0 => no"},
    {"the first has failed: both are used",
	"ready; start a 0; ended a 0 failed => try 1; start a 1 failure\n"
	"overtake a 1 => no"},
    {"the other's 5xx is better than half a response",
	STOPPED "hedge a gc; head a 1 503; ended a 1 complete 1ms => wait\n"
		"overtake a 0 => yes; rival a 0 => no"},
    {"the hedge was undone: there may be another",
	STOPPED "hedge a gc; end 0 gc; ended a 1 unsent => wait\n"
		"overtake a 0 => yes; rival a 0 => no"},
};

static const struct scenario triggers[] = {
    {"T1 gc, safepoint and exit",
	"ready; start a 0; start b 0; start c 0; begin 0 safepoint\n"
	"hedge a safepoint => yes 1; begin 0 gc; hedge b gc => yes 1\n"
	"begin 0 exit; hedge c exit => yes 1; ? hedges 1 => 3"},
    {"T1 a request without an attempt needs no hedge",
	"ready; begin 0 gc; ask a gc => pause_over"},
    {"T1 a request that runs on the good server needs no hedge",
	STOPPED "start b 1; ask b gc => pause_over"},
    {"T2 the other is not ready", "ready; start a 0; begin 1 gc; begin 0 gc\n"
				  "ask a gc => backup_not_ready\n"
				  "? swaps_refused => 1"},
    {"T3 over before it was asked for",
	STOPPED "end 0 gc; ask a gc => pause_over"},
    {"T3 over before it was written: free, and may be hedged again",
	STOPPED "idle a => no; hedge a gc => yes 1; idle a => no\n"
		"? tokens => 19; end 0 gc => cancel; idle a => yes\n"
		"ended a 1 unsent => wait; ? tokens => 20; ? cancelled => 1\n"
		"? inflight 1 => 0; ? hedges 1 => 0; idle a => no\n"
		"begin 0 gc => sweep; hedge a gc => yes 1"},
    {"T3 nothing to cancel", STOPPED "end 0 gc => nothing"},
    {"T3 not when the first attempt has failed meanwhile",
	STOPPED "hedge a gc; ended a 0 failed => wait; end 0 gc => cancel\n"
		"idle a => no"},
    {"T3 not while another kind of hazard lasts",
	STOPPED "hedge a gc; begin 0 safepoint; end 0 gc => sweep\n"
		"idle a => no; end 0 safepoint => cancel; idle a => yes"},
    {"T4 nothing is known: other safepoints wait for the price of a hedge",
	"ready; answer 1 1ms; start a 0\n"
	"begin 0 safepoint => nothing; ? until_us => 2000; choose => 0\n"
	"? trigger 0 => first; ask a safepoint => pause_over; wait 1999us\n"
	"tick => nothing; wait 1us; tick => swap,sweep; ? until_us => -1\n"
	"ask a safepoint => yes 1; choose => 1; wait 1ms; end 0 safepoint\n"
	"? waited => 0; ? regret_us => 2000"},
    {"T4 no response is known: at once",
	"ready; begin 0 safepoint => swap,sweep"},
    {"T4 the other has not served yet: the paused one's responses count",
	"ready; answer 0 1ms; begin 0 safepoint => nothing\n"
	"? until_us => 2000"},
    {"T4 known to be short: half the price",
	"ready; answer 1 1ms; pause 0 safepoint 300us 8\n"
	"? waited => 8; begin 0 safepoint => nothing; ? until_us => 1000"},
    {"T4 a collection is acted upon at once, however short they were",
	"ready; answer 1 1ms; pause 0 gc 300us 20; ? waited => 0\n"
	"start a 0; begin 0 gc => swap,sweep; ask a gc => yes 1"},
    {"T4 known to be long: at once, and nothing is lost",
	"ready; answer 1 1ms; pause 0 safepoint 60ms 64\n"
	"begin 0 safepoint => swap,sweep"},
    {"T4 one of them was not: half the price",
	"ready; answer 1 1ms; pause 0 safepoint 60ms 63\n"
	"pause 0 safepoint 3ms; begin 0 safepoint => nothing\n"
	"? until_us => 1000"},
    {"T4 seen late: what is left of the wait, or none",
	"ready; answer 1 1ms; begin 0 safepoint 500us\n"
	"? until_us => 1500; end 0 safepoint => nothing\n"
	"begin 0 safepoint 2ms => swap,sweep"},
    {"T4 one that is over is not acted upon",
	"ready; answer 1 1ms; begin 0 safepoint over\n"
	"? until_us => -1; wait 5ms; tick => nothing; ? hazards => 2\n"
	"end 0 safepoint => nothing; ? swaps => 0; ? waited => 1\n"
	"? regret_us => 3000"},
    {"T4 a collection in a safepoint is acted upon",
	"ready; answer 1 1ms; start a 0; begin 0 safepoint\n"
	"begin 0 gc => swap,sweep; ask a gc => yes 1"},
    {"T4 a server that is waited for is no target",
	"ready; answer 0 1ms; answer 1 1ms\n"
	"begin 1 safepoint => nothing; begin 0 gc => nothing\n"
	"? swaps_refused => 1; end 1 safepoint => swap,sweep"},
    {"T2 T4 no target when the wait is over",
	"ready; answer 1 1ms; begin 1 gc => nothing\n"
	"begin 0 safepoint; ? swaps_refused => 0; wait 2ms; tick => nothing\n"
	"? swaps_refused => 1; end 1 gc => swap,sweep"},
    {"T4 pauses of the backup are kept out",
	"ready; answer 0 1ms; pause 1 safepoint 300us 20\n"
	"switch; begin 1 safepoint => nothing; ? until_us => 2000"},
    {"T4 the end is near: not acted upon",
	"ready; answer 1 2ms; start a 0\n"
	"begin 0 quota left 3ms => nothing; ask a quota => pause_over\n"
	"choose => 0; wait 3ms; tick => nothing; end 0 quota => nothing\n"
	"? waited => 1; ? swaps => 0"},
    {"T4 the end is far: at once",
	"ready; answer 1 2ms; start a 0\n"
	"begin 0 quota left 80ms => swap,sweep; ask a quota => yes 1"},
    {"T4 no nearer than a hedge costs: at once",
	"ready; answer 1 2ms; begin 0 quota left 4ms\n"
	"? swaps => 0; end 0 quota; begin 0 quota left 4001us => swap,sweep"},
    {"T4 it goes on after its end: half the price longer",
	"ready; answer 1 2ms; begin 0 quota left 3ms\n"
	"? until_us => 5000; wait 4999us; tick => nothing; wait 1us\n"
	"tick => swap,sweep"},
    {"T4 an end is not waited for",
	"ready; answer 1 1ms; begin 0 exit => swap,sweep"},
    {"B3 T4 short safepoints make no storm, where they are not waited for one",
	"ready; answer 1 1ms; pause 0 safepoint 300us 60\n"
	"? swaps => 0; ? waited => 60; ? regret_us => 0"},
    {"T6 off by default", "ready; answer 0 5ms 100; timer 0 => off\n"
			  "start a 0; ask a timer => budget"},
    {"T6 the p99, not below 1 ms, not above the cap",
	"set timer 0.01; ready; timer 0 => off; answer 0 100us 99\n"
	"timer 0 => 1000; answer 0 20ms 100; timer 0 => 20000\n"
	"answer 0 9s 100; timer 0 => 1000000"},
    {"T6 a configured delay needs no answers to compare with",
	"set timer 0.01; set timer_delay 3ms; ready; timer 0 => 3000"},
    {"T6 needs no hazard, and a budget of its own inside B2",
	"set timer 0.01; ready; start a 0; start b 0; start c 0\n"
	"hedge a timer => yes 1; hedge b timer => yes 1; ? tokens => 18\n"
	"ask c timer => budget; ended b 1 unsent => wait; ? tokens => 19\n"
	"ask c timer => yes 1"},
    {"T6 only spare capacity: half of the other's",
	"set timer 0.1; set conns1 4; ready; start a 0; start b 1; start c 1\n"
	"ask a timer => inflight_limit; ended b 0 failed; ask a timer => yes "
	"1"},
    {"T6 not once the head is there",
	"set timer 0.1; ready; start a 0; head a 0 200\n"
	"ask a timer => pause_over"},
    {"T6 switched on and off by a reload",
	"set timer 0.1; ready; start a 0; hedge a timer => yes 1; start b 0\n"
	"set timer 0; reload; ask b timer => budget\n"
	"ended a 1 unsent; ask b timer => budget; set timer 0.1; reload\n"
	"ask b timer => yes 1"},
    {"T7 by hand: the other server, uncharged",
	"ready; start a 0; ask a failure => attempts; ended a 0 failed\n"
	"hedge a failure => yes 1; ? tokens => 20"},
    {"T7 by hand: not for an unsafe one",
	"ready; start a 0; ended a 0 failed; view a unsafe\n"
	"ask a failure => method"},
    {"T7 by hand: only to a server that serves and has room",
	"set conns1 1; ready; start a 0; start b 1; ended a 0 failed => queue "
	"1\n"
	"ask a failure => inflight_limit; view a 0ms; ask a failure => "
	"deadline\n"
	"down 1; start c 0; ended c 0 failed => give up\n"
	"ask c failure => backup_not_ready; ask d failure => attempts"},
};

static const struct scenario budgets[] = {
    {"B1 connections of the other",
	"set conns1 2;" STOPPED
	"start b 1; start c 1; ask a gc => inflight_limit\n"
	"ended b 0 failed; ask a gc => yes 1"},
    {"B1 hedges on the other",
	"set conns1 1;" STOPPED
	"start b 0; hedge a gc => yes 1; ask b gc => inflight_limit\n"
	"head a 1 200; commit a 1 => yes; ended a 1 complete 5ms\n"
	"ask b gc => yes 1"},
    {"B1 losers still being read count",
	"set conns1 2;" STOPPED "drain 1; drain 1; ask a gc => inflight_limit"},
    {"B1 the rest waits, and is looked at when there is room",
	"set conns1 1;" STOPPED "start b 0; hedge a gc; ask b gc => "
	"inflight_limit; tick => nothing\n"
	"abandon a; wait 5ms; tick => sweep\n"
	"ask b gc => yes 1"},
    {"B1 looked at even if there was never room to ask",
	"set conns1 1; ready; start a 0; switch; start b 1\n"
	"begin 0 gc => nothing; tick => nothing; ended b 0 failed; wait 5ms\n"
	"tick => sweep; hedge a gc => yes 1"},
    {"B1 hedges and new requests take turns",
	STOPPED "turn 1 => hedge; hedge a gc; turn 1 => new; start b 1\n"
		"turn 1 => hedge"},
    {"B2 a token each, none left",
	"set burst 2; ready; start a 0; start b 0\n"
	"start c 0; begin 0 gc; hedge a gc => yes 1; hedge b gc => yes 1\n"
	"? tokens => 0; ask c gc => budget"},
    {"B2 ten finished requests buy one",
	"set burst 1; ready; start a 0\n"
	"start b 0; begin 0 gc; hedge a gc; ask b gc => budget\n"
	"finish;finish;finish;finish;finish;finish;finish;finish;finish\n"
	"ask b gc => budget; finish; ask b gc => yes 1; ask b gc => budget"},
    {"B2 never more than the burst", "ready; finish; finish; ? tokens => 20"},
    {"B2 a refusal costs nothing", "ready; start a 0; ask a gc => pause_over;"
				   "? tokens => 20"},
    {"B2 a smaller burst after a reload",
	"ready; set burst 5; reload\n"
	"? tokens => 5; set burst 20; reload; ? tokens => 5"},
    {"B2 and B1 defaults", "set burst 0; set conns0 30; set conns1 30; ready; "
			   "? tokens => 60; begin 0 gc; drain 0; drain 0\n"
			   "end 0 gc; begin 1 gc => swap,sweep"},
    {"B4 a hedge that fails is an error of its server, a re-try as well",
	"set burst 99; ready; begin 0 gc; ? errors 1 => 0\n"
	"start a 0; hedge a gc; ended a 1 failed => wait\n"
	"? errors 1 => 0.125; start b 0; hedge b gc; head b 1 500 => hold\n"
	"ended b 1 complete 1ms => wait; ? errors 1 => 0.234375\n"
	"end 0 gc; start c 0; ended c 0 failed => try 1; ? errors 0 => 0.125\n"
	"start c 1 failure; ended c 1 failed => give up\n"
	"? errors 1 => 0.330078"},
    {"B4 it fails from six errors on, and gets no hedges and no swap",
	"ready; answer 1 1ms 5 500; ? failing 1 => 0; answer 1 1ms 1 503\n"
	"? failing 1 => 1; start a 0; begin 0 gc => nothing; choose => 0\n"
	"ask a gc => failing; other a => no; end 0 gc; switch => nothing"},
    {"B4 the active one is left when it fails",
	"ready; answer 0 1ms 5 500; tick => nothing; answer 0 1ms 1 500\n"
	"? failing 0 => 1; tick => swap; choose => 1; tick => nothing\n"
	"choose => 1; begin 1 gc => nothing; choose => 1"},
    {"B4 a broken backup after one pause of the active one",
	"ready; begin 0 gc => swap,sweep; answer 1 1ms 3 500; end 0 gc; tick\n"
	"choose => 1; answer 1 1ms 3 500; tick => swap; choose => 0\n"
	"begin 0 gc => nothing; choose => 0"},
    {"B4 not when watching",
	"set act 0; ready; answer 0 1ms 9 500; ? failing 0 => 1\n"
	"tick => nothing; choose => 0"},
    {"B4 what both err at changes nothing",
	"ready; answer 0 1ms 5 500; answer 1 1ms 5 500; answer 0 1ms 20 500\n"
	"? failing 0 => 0; answer 1 1ms 20 500; ? failing 0 => 0\n"
	"? failing 1 => 0; tick => nothing; choose => 0"},
    {"B4 both err, until one no longer does",
	"ready; answer 0 1ms 30 500; answer 1 1ms 1; tick => swap\n"
	"answer 1 1ms 30 500; tick => nothing; choose => 1\n"
	"probed 0; probed 0; probed 0; probed 0; probed 0; ? failing 1 => 0\n"
	"probed 0 => swap; choose => 0; ? failing 1 => 1"},
    {"B4 a lone server serves what it can",
	"set servers 1; ready; answer 0 1ms 30 500; tick => nothing\n"
	"choose => 0"},
    {"B4 one that fails is better than none",
	"ready; answer 1 1ms 30 500; down 0 => swap,sweep; choose => 1\n"
	"up 0 => swap; choose => 0; ? state 0 => ready"},
    {"B4 no swap to one whose last word was an error, until it has another",
	"ready; answer 1 1ms 1 500; begin 0 gc => nothing\n"
	"choose => 0 hedged; probed 1 silent => nothing\n"
	"probed 1 => swap,sweep; choose => 1"},
    {"B4 unless the other one is worse",
	"ready; answer 1 1ms 1 500; answer 0 1ms 8 500; ? failing 0 => 1\n"
	"tick => swap"},
    {"B4 and for ten seconds",
	"ready; answer 1 1ms 1 500; begin 0 gc => nothing; wait 9999ms; tick\n"
	"choose => 0 hedged; wait 1ms; tick => swap,sweep"},
    {"B4 eleven good responses end it",
	"ready; answer 1 1ms 99 500; answer 1 1ms 10; ? failing 1 => 1\n"
	"answer 1 1ms 1; ? failing 1 => 0; begin 0 gc => swap,sweep"},
    {"B4 so do probes, of a backup alone",
	"ready; probed 1 => unwanted; answer 1 1ms 7 500; probed 1; probed 1\n"
	"probed 1; probed 1; probed 1; probed 1; ? failing 1 => 1; probed 1\n"
	"? failing 1 => 0; probed 1 => unwanted; answer 0 1ms 2 500\n"
	"probed 0 => unwanted"},
    {"B4 and time: what it was a minute ago says less",
	"ready; answer 1 1ms 6 500; tick; ? failing 1 => 1; wait 36s; tick\n"
	"? failing 1 => 0; answer 0 1ms 6 500; wait 99s; tick\n"
	"? failing 0 => 1"},
    {"B4 and a new process",
	"ready; answer 1 1ms 9 500; down 1; ? errors 1 => 0; up 1 cold\n"
	"? failing 1 => 0"},
    {"B4 losers we closed, unsent ones and those of a request do not count",
	"ready; start a 0; begin 0 gc; hedge a gc; abandon a\n"
	"ended a 1 failed => wait; start b 0; hedge b gc; ended b 1 unsent\n"
	"answer 1 1ms 9 404; answer 1 1ms 9 429; answer 1 1ms 9 501\n"
	"answer 1 1ms 9 505; ? errors 1 => 0"},
    {"B4 a loser that answered 500 does",
	"ready; start a 0; begin 0 gc; hedge a gc; head a 0 200; commit a 0\n"
	"head a 1 500 => discard; ended a 1 complete 5ms\n"
	"? errors 1 => 0.125"},
    {"B4 a server that was not reached has failed at nothing",
	"ready; start a 0; begin 0 gc; hedge a gc\n"
	"ended a 1 failed unwritten => wait; ? errors 1 => 0"},
    {"B4 a deadline is evidence, but not of a pause",
	"ready; late 0 500ms 5; ? errors 0 => 0.487091; tick => nothing\n"
	"late 0 500ms 1; tick => swap; down 0; up 0 cold; begin 0 gc\n"
	"late 0 500ms 9; ? errors 0 => 0; end 0 gc; wait 400ms\n"
	"late 0 500ms 9; ? errors 0 => 0; late 0 399ms 1\n"
	"? errors 0 => 0.125"},
    {"B4 not one that fails its warm-up is ready, but if it is alone",
	"ready; down 1; up 1; warmfail 1 6 1ms; ? failing 1 => 1; wait 11s\n"
	"tick => warmup; ? state 1 => warming; warm 1 => 2 in 2ms\n"
	"warmfail 1 2 1ms; warm 1 => 0 in 498ms; down 0; ? state 1 => ready"},
    {"B4 one that no longer fails warms up anew",
	"ready; down 1; up 1; warmfail 1 9 1ms; wait 11s; warmed 1 9 1ms\n"
	"? failing 1 => 0; ? state 1 => warming; warmed 1 7 1ms\n"
	"? state 1 => warming; warmed 1 1 1ms; ? state 1 => ready"},
    {"a request that waited long may go to the backup, below its half",
	"set conns1 4; ready; overflow => 1; start a 1; overflow => 1\n"
	"start b 1; overflow => no"},
    {"not to one that could not be swapped to",
	"ready; begin 1 gc; overflow => no; end 1 gc; down 1; overflow => no"},
    {"not when watching", "set act 0; ready; overflow => no"},
    {"B5 pushback",
	STOPPED "pushback 1 50ms; ask a gc => pushback; wait 49ms\n"
		"ask a gc => pushback; wait 1ms; ask a gc => yes 1"},
    {"B5 is not shortened, not endless, and ends with the process", STOPPED
	"pushback 1 -1; pushback 1 5ms; wait 59s; ask a gc => pushback\n"
	"wait 1s; ask a gc => yes 1; pushback 1 9999s; wait 59s\n"
	"ask a gc => pushback; wait 1s; ask a gc => yes 1\n"
	"pushback 1 9s; down 1; up 1 cold; ask a gc => yes 1"},
    {"B5 new requests still go there", STOPPED "pushback 1 9s; choose => 1"},
};

TEST_SCENARIOS(test_eligibility, eligibility);
TEST_SCENARIOS(test_overtaking, overtaking);
TEST_SCENARIOS(test_triggers, triggers);
TEST_SCENARIOS(test_budgets, budgets);

/* Goal: each refusal is counted under its own reason, a grant under none. */
TEST(test_refusals_are_counted)
{
	struct hedging h;
	struct race r;
	const struct hedging_limits limits = {
	    .servers = 2, .connections_max = {4, 4}};
	const struct hedge_view view = {.method_allowed = true};
	int server = 7;

	hedging_init(&h, &limits);
	race_init(&r);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hedging_decide(&h, &r, &view, HEDGE_GC,
				     instant_now(), &server),
		    HEDGE_REFUSED_WATCHING);
	assert_int_equal(h.refused[HEDGE_REFUSED_WATCHING], 3);
	assert_int_equal(server, 7);
	for (unsigned i = 0; i < HEDGE_REFUSAL_COUNT; i++)
		if (i != HEDGE_REFUSED_WATCHING)
			assert_int_equal(h.refused[i], 0);
}

/* Goal: names are distinct, lower case, and safe beyond the last one. */
TEST(test_names)
{
	for (unsigned i = 0; i < HEDGE_REFUSAL_COUNT; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(
			    hedge_refusal_name(i), hedge_refusal_name(j));
	for (unsigned i = 0; i < HEDGE_TRIGGER_COUNT; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(
			    hedge_trigger_name(i), hedge_trigger_name(j));
	assert_string_equal(hedge_refusal_name(HEDGE_REFUSED_BUDGET), "budget");
	assert_string_equal(server_state_name(SERVER_CONNECTING), "connecting");
	assert_string_equal(hedge_refusal_name(HEDGE_REFUSAL_COUNT), "?");
	assert_string_equal(hedge_trigger_name(HEDGE_TRIGGER_COUNT), "?");
}
