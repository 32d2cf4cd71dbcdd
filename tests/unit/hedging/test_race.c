/* Goal: of one request's attempts exactly one answers, and the right one. */
#include "tests/unit/hedging/script.h"

/* E5: two writes in all, one of what may not be repeated. */
static const struct scenario writes[] = {
    {"a stale connection is one write, its second the last one",
	"ready; start a 0; rewrite a => yes; rewrite a => no\n"
	"begin 0 gc => swap,sweep; ask a gc => attempts\n"
	"ended a 0 failed => give up"},
    {"no failover either", "ready; start a 0; rewrite a => yes\n"
			   "ended a 0 failed => give up"},
    {"but for one that was not written",
	"ready; start a 0; rewrite a => yes; ended a 0 failed unwritten => "
	"try 1; start a 1 failure; rewrite a => no"},
    {"what may not be repeated is written once",
	"ready; start a 0; view a unsafe; rewrite a => no\n"
	"ended a 0 failed => give up"},
    {"a hedge takes the second write", "ready; start a 0; begin 0 gc\n"
				       "hedge a gc => yes 1; rewrite a => no"},
    {"a hedge dropped gives it back",
	"ready; start a 0; begin 0 gc\n"
	"hedge a gc => yes 1; ended a 1 unsent => wait; rewrite a => yes"},
};

/* T7: the second try is the other server's. */
static const struct scenario seconds[] = {
    {"in the queue, too",
	"set conns1 1; ready; start z 1; start a 0\n"
	"ended a 0 failed => queue 1; again a => full; again b => 0\n"
	"abandon z; again a => 1"},
    {"if it is up", "ready; start a 0; down 1; again a => 0"},
    {"a lost connection's too, where it could answer",
	"ready; start a 0; other a => yes; begin 1 gc; other a => no\n"
	"start b 1; other b => yes; end 1 gc; view a unsafe; other a => no"},
    {"not where two writes were made or one watches",
	"ready; start a 0; rewrite a; other a => no; set act 0; reload\n"
	"start b 0; other b => no; again b => 0"},
};

/* Attempts that hold no slot. */
static const struct scenario asides[] = {
    {"it gives its slot back and keeps its place",
	"set conns0 1; ready; start a 0; choose => full; aside a 0 => yes\n"
	"choose => 0; ? inflight 0 => 0; ? aside 0 => 1; aside a 0 => no\n"
	"head a 0 200; commit a 0 => yes; ended a 0 complete => wait\n"
	"? aside 0 => 0"},
    {"bounded", "set aside 1; ready; start a 0; start b 0\n"
		"aside a 0 => yes; aside b 0 => no; ? inflight 0 => 1"},
    {"a hedge's share too",
	"ready; start a 0; begin 0 gc; hedge a gc\n"
	"? hedges 1 => 1; aside a 1 => yes; ? hedges 1 => 0; ? aside 1 => 1\n"
	"head a 0 200; commit a 0; ? aside 1 => 0"},
    {"a client that leaves ends it", "ready; start a 0; aside a 0 => yes\n"
				     "abandon a; ? aside 0 => 0"},
};

/* a runs on both servers. */
#define RACING "ready; start a 0; begin 0 gc; hedge a gc\n"

static const struct scenario winners[] = {
    {"W1 the first acceptable one",
	RACING "head a 1 200 => collect; commit a 1 => yes; commit a 0 => no\n"
	       "commit a 1 => no; ? inflight 0 => 0; ? inflight 1 => 1\n"
	       "ended a 1 complete 5ms => wait; ? inflight 1 => 0"},
    {"W1 404 and 499 are answers", RACING
	"head a 1 404 => collect; head a 0 499 => collect; commit a 0 => yes"},
    {"W1 101 is one, other 1xx are none (W5)", RACING
	"head a 1 100 => wait; head a 1 103 => wait; head a 1 500 => hold\n"
	"head a 0 101 => collect; commit a 0 => yes\n"
	"head a 1 103 => discard"},
    {"W1 complete before it was committed", RACING
	"head a 1 200; ended a 1 complete 5ms => send 1; commit a 1 => yes\n"
	"? inflight 1 => 0; ? inflight 0 => 0"},
    {"W2 5xx first, then 200 (2)",
	RACING "head a 1 503 => hold; ended a 1 complete 5ms => wait\n"
	       "head a 0 200 => collect; commit a 0 => yes; commit a 1 => no"},
    {"W2 5xx first, then nothing", RACING
	"head a 1 503 => hold; ended a 1 complete 5ms => wait\n"
	"ended a 0 failed => send 1; commit a 1 => yes; commit a 0 => no"},
    {"W2 5xx on its way while the other fails",
	RACING "head a 1 503 => hold; ended a 0 failed => wait\n"
	       "ended a 1 complete 5ms => send 1; commit a 1 => yes"},
    {"W2 both 5xx: a server's own error tells most (3)",
	RACING "head a 1 503 => hold; ended a 1 complete 1ms => wait\n"
	       "head a 0 500 => collect; commit a 0 => yes; commit a 1 => no"},
    {"W2 both 5xx: the second tells less",
	RACING "head a 1 500 => hold; ended a 1 complete 1ms => wait\n"
	       "head a 0 502 => hold; ended a 0 complete 1ms => send 1"},
    {"W2 both 5xx, alike: the first attempt's", RACING
	"head a 1 503 => hold; head a 0 503 => hold\n"
	"ended a 1 complete 1ms => wait; ended a 0 complete 1ms => send 0\n"
	"commit a 0 => yes"},
    {"W2 both 5xx, alike: the one held first",
	RACING "head a 1 503 => hold; ended a 1 complete 1ms => wait\n"
	       "head a 0 503 => hold"},
    {"W2 both 5xx, held in the other order",
	RACING "head a 0 504 => hold; ended a 0 complete 1ms => wait\n"
	       "head a 1 503 => collect; ended a 1 complete 1ms => send 1"},
    {"W2 a lone 5xx is passed on",
	"ready; start a 0; head a 0 500 => collect; commit a 0 => yes"},
    {"W2 a 5xx after a failure is passed on",
	RACING "ended a 0 failed => wait; head a 1 500 => collect"},
    {"W2 a held one that is cut is no answer",
	RACING "head a 1 503 => hold; ended a 1 failed => wait\n"
	       "ended a 0 failed => give up"},
    {"W2 nor is one that is cut after its end was reported",
	RACING "head a 1 503 => hold; ended a 1 complete 5ms => wait; cut a 1\n"
	       "ended a 0 failed => give up"},
    {"W2 both end without an answer",
	RACING "ended a 1 failed => wait; ended a 0 failed => give up"},
    {"W2 complete without a head is none",
	RACING "ended a 1 complete 5ms => wait; ended a 0 complete => give up"},
    {"W4 a winner that dies brings nobody back",
	RACING "head a 1 200; commit a 1 => yes; ended a 1 failed => wait\n"
	       "head a 0 200 => discard; commit a 0 => no\n"
	       "ended a 0 complete 5ms => wait"},
    {"W7 a late loser is discarded (1)",
	RACING "head a 1 200; commit a 1; ended a 1 complete 5ms => wait\n"
	       "head a 0 200 => discard; commit a 0 => no\n"
	       "ended a 0 complete 90ms => wait; ? inflight 0 => 0"},
    {"W7 a loser never starts a re-try", RACING
	"head a 1 200; commit a 1; ended a 0 failed => wait; ? swaps => 1"},
    {"W7 a loser whose race is gone needs no end", RACING
	"head a 1 200; commit a 1; ended a 1 complete 1ms; ? inflight 0 => 0"},
    {"a loser that was never written is refunded (5)",
	RACING "? tokens => 19; head a 0 200; commit a 0 => yes\n"
	       "ended a 1 unsent => wait; ? tokens => 20; ? cancelled => 1"},
    {"a refused hedge after a failure does not hang (4)",
	"set burst 1; ready; start a 0; start b 0; begin 0 gc; hedge b gc\n"
	"ask a gc => budget; ended a 0 failed => try 1"},
};

static const struct scenario failures[] = {
    {"T7 safe: the other server at once",
	"ready; start a 0\n"
	"ended a 0 failed => try 1; start a 1 failure; ? hedges 1 => 0\n"
	"head a 1 200; commit a 1 => yes"},
    {"T7 unsafe: only if nothing was written",
	"ready; start a 0; start b 0\n"
	"view a unsafe; view b unsafe; ended a 0 failed => give up\n"
	"ended b 0 failed unwritten => try 1"},
    {"T7 an unfinished upload: only if nothing was written",
	"ready; start a 0; view a uploading; ended a 0 failed => give up\n"
	"start b 0; view b uploading; ended b 0 failed unwritten => try 1"},
    {"T7 an upgrade, an opt-out, a big body, a late one",
	"ready; answer 1 20ms; start a 0; start b 0; start c 0; start d 0\n"
	"view a upgrade; view b optout; view c big; view d 5ms\n"
	"ended a 0 failed => give up; ended b 0 failed => give up\n"
	"ended c 0 failed => give up; ended d 0 failed => give up"},
    {"T7 once: two attempts at most (E5)",
	"ready; start a 0\n"
	"ended a 0 failed => try 1; start a 1 failure\n"
	"ended a 1 failed => give up"},
    {"T7 not while the other attempt runs (W6)",
	RACING "ended a 0 failed => wait; ended a 1 failed => give up"},
    {"T7 a response cut before commit, safe",
	"ready; start a 0\n"
	"head a 0 200; ended a 0 failed => try 1"},
    {"T7 a response cut before commit, unsafe (15)",
	"ready; start a 0\n"
	"view a unsafe; head a 0 200; ended a 0 failed => give up"},
    {"T7 no server to try, and none knows of it: it waits for one",
	"ready; down 1; start a 0; view a unsafe\n"
	"ended a 0 failed unwritten => restart; ? inflight 0 => 0\n"
	"start a 0; ended a 0 failed => give up"},
    {"T7 refused by both, it waits",
	"ready; start a 0\n"
	"ended a 0 failed unwritten => try 1; start a 1 failure\n"
	"ended a 1 failed unwritten => restart"},
    {"T7 the other was not reached: the first gets the write that is left",
	"ready; start a 0\n"
	"ended a 0 failed => try 1; start a 1 failure\n"
	"ended a 1 failed unwritten => try 0; ? inflight 1 => 0\n"
	"start a 0 failure; head a 1 200; commit a 1 => yes"},
    {"T7 but once", "ready; start a 0\n"
		    "ended a 0 failed => try 1; start a 1 failure\n"
		    "ended a 1 failed unwritten => try 0; start a 0 failure\n"
		    "ended a 1 failed unwritten => give up"},
    {"T7 not after both writes, for an unsafe one, or without a client",
	"ready; start a 0; rewrite a => yes; start b 0; start c 0\n"
	"view b unsafe; ended a 0 failed => give up\n"
	"ended b 0 failed => give up\n"
	"ended c 0 failed => try 1; start c 1 failure; view c gone\n"
	"ended c 1 failed unwritten => give up"},
    {"T7 nor to a server that is gone",
	"ready; start a 0\n"
	"ended a 0 failed => try 1; start a 1 failure; down 0\n"
	"ended a 1 failed unwritten => give up"},
    {"T7 refused by both, and its client has left",
	"ready; start a 0\n"
	"ended a 0 failed unwritten => try 1; start a 1 failure; view a gone\n"
	"ended a 1 failed unwritten => give up"},
    {"a first attempt moved before it was written never happened",
	"ready; start a 0; ended a 0 unsent => restart; ? errors 0 => 0\n"
	"start a 1; head a 0 200 => collect"},
    {"T7 to a server that warms up, too",
	"ready; down 1; up 1; start a 0; ended a 0 failed => try 1"},
    {"T7 to a stopped one: it will go on", "ready; begin 1 gc; start a 0\n"
					   "ended a 0 failed => try 1"},
    {"T7 storm and empty budget do not matter",
	"set burst 1; ready; start a 0; start b 0\n"
	"begin 0 gc; hedge a gc;" SWAPS "pushback 1 9s\n"
	"ended b 0 failed => try 1"},
    {"T7 no room: wait in the queue", "set conns1 1; ready; start b 1\n"
				      "start a 0; ended a 0 failed => queue 1"},
    {"T7 the client is gone", "ready; start a 0; view a gone\n"
			      "ended a 0 failed => give up"},
    {"T8 exit: a swap, then each attempt's failure",
	"ready; start a 0; start b 0; view b unsafe; begin 0 exit => "
	"swap,sweep\n"
	"hedge a exit => yes 1; ended a 0 failed => wait\n"
	"ask b exit => method; ended b 0 failed => give up"},
    {"a re-try that was not written counts as an attempt",
	"ready; start a 0; ended a 0 failed => try 1; start a 1 failure\n"
	"ended a 1 unsent => give up; ? cancelled => 0"},
    {"a hedge dropped after the first attempt failed ends the race",
	RACING "ended a 0 failed => wait; ended a 1 unsent => give up"},
    {"the first attempt dropped, the hedge goes on",
	RACING "ended a 0 unsent => wait; head a 1 200 => collect"},
};

static const struct scenario clients[] = {
    {"C3 before any head (14)", RACING
	"abandon a; ? inflight 0 => 0; ? inflight 1 => 0; ? hedges 1 => 0\n"
	"head a 0 200 => discard; commit a 0 => no; commit a 1 => no\n"
	"ended a 0 complete 5ms => wait; ended a 1 failed => wait"},
    {"C3 with an answer held (6)", RACING
	"head a 1 503 => hold; ended a 1 complete 1ms => wait; abandon a\n"
	"commit a 1 => no; ended a 0 failed => wait; ? inflight 0 => 0"},
    {"C3 between head and commit", "ready; start a 0; head a 0 200; abandon a\n"
				   "commit a 0 => no"},
    {"C3 after commit: the winner becomes a loser", RACING
	"head a 1 200; commit a 1 => yes; abandon a; ? inflight 1 => 0\n"
	"commit a 1 => no; ended a 1 complete 5ms => wait; ? inflight 1 => 0"},
    {"C3 after the end",
	"ready; start a 0; head a 0 200; commit a 0\n"
	"ended a 0 complete 1ms; abandon a; ? inflight 0 => 0"},
    {"C3 before the start", "ready; abandon a; ? inflight 0 => 0"},
};

static const struct scenario latencies[] = {
    {"nearest rank", "ready; answer 0 1ms 94; answer 0 9ms 6; ? p50_us 0 "
		     "=> 1000; ? p95_us 0 => 9000; ? p99_us 0 => 9000"},
    {"only the latest 128", "ready; answer 0 9ms 128; answer 0 1ms 128\n"
			    "? p99_us 0 => 1000"},
    {"not in a hazard, not across one, again after it",
	"ready; begin 0 gc; answer 0 3ms; ? p50_us 0 => 0; end 0 gc\n"
	"start a 0; wait 2ms; head a 0 200; ended a 0 complete 2ms => send 0\n"
	"? p50_us 0 => 0; answer 0 4ms; ? p50_us 0 => 4000"},
    {"a pause in the middle",
	"ready; start a 0; wait 1ms; begin 0 gc; wait 1ms\n"
	"end 0 gc; wait 1ms; head a 0 200; ended a 0 complete 3ms\n"
	"? p50_us 0 => 0"},
    {"a kind that triggers nothing is a hazard too",
	"set triggers 1; ready; begin 0 safepoint; answer 0 3ms\n"
	"? p50_us 0 => 0"},
    {"losers count, errors and the unknown do not",
	"ready; start a 0; head a 0 500; ended a 0 complete 5ms => send 0\n"
	"start b 0; head b 0 200; ended b 0 failed 5ms\n"
	"start c 0; head c 0 200; ended c 0 complete; ? p50_us 0 => 0\n"
	"start d 0; abandon d; head d 0 200; ended d 0 complete 6ms\n"
	"? p50_us 0 => 6000"},
    {"forgotten with the process", "ready; answer 0 5ms 9; down 0\n"
				   "? p50_us 0 => 0; up 0; ? p99_us 0 => 0"},
};

TEST_SCENARIOS(test_writes, writes);
TEST_SCENARIOS(test_seconds, seconds);
TEST_SCENARIOS(test_asides, asides);
TEST_SCENARIOS(test_winners, winners);
TEST_SCENARIOS(test_failures, failures);
TEST_SCENARIOS(test_clients_that_leave, clients);
TEST_SCENARIOS(test_latencies, latencies);
