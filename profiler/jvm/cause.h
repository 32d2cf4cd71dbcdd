/* cause.h: HotSpot's texts for GC causes, mapped to enum talechain_cause.
 *
 * A header, because the agent uses it too. */
#pragma once

#include <stdbool.h>

#include "talechain/talechain.h"

/* Bytes of a cause's text that are read at most. */
#define CAUSE_BYTES 40

/* True if text (terminated) is the JVM's "no collection". */
static inline bool
cause_is_none(const char *text)
{
	return strcmp(text, "No GC") == 0;
}

/* Map a text.  With a concurrent collector, running out of memory means that
 * threads wait, which is worse than an ordinary collection by allocation.
 * Source: the list in OpenJDK's gcCause.cpp, 11 to 25. */
static inline enum talechain_cause
cause_parse(const char *text, bool concurrent)
{
	static const struct {
		const char *text;
		enum talechain_cause cause;
	} known[] = {
	    {"Allocation Failure", TALECHAIN_CAUSE_ALLOCATION},
	    {"G1 Evacuation Pause", TALECHAIN_CAUSE_ALLOCATION},
	    {"G1 Preventive Collection", TALECHAIN_CAUSE_ALLOCATION},
	    {"G1 Compaction Pause", TALECHAIN_CAUSE_ALLOCATION},
	    {"GCLocker Initiated GC", TALECHAIN_CAUSE_ALLOCATION},
	    {"CodeCache GC Threshold", TALECHAIN_CAUSE_METADATA},
	    {"CodeCache GC Aggressive", TALECHAIN_CAUSE_METADATA},
	    {"Metadata GC Threshold", TALECHAIN_CAUSE_METADATA},
	    {"Metadata GC Clear Soft References", TALECHAIN_CAUSE_METADATA},
	    {"G1 Humongous Allocation", TALECHAIN_CAUSE_HUMONGOUS},
	    {"System.gc()", TALECHAIN_CAUSE_EXPLICIT},
	    {"Diagnostic Command", TALECHAIN_CAUSE_EXPLICIT},
	    {"JvmtiEnv ForceGarbageCollection", TALECHAIN_CAUSE_EXPLICIT},
	    {"WhiteBox Initiated Young GC", TALECHAIN_CAUSE_EXPLICIT},
	    {"WhiteBox Initiated Full GC", TALECHAIN_CAUSE_EXPLICIT},
	    {"Heap Dump Initiated GC", TALECHAIN_CAUSE_HEAP_DUMP},
	    {"Heap Inspection Initiated GC", TALECHAIN_CAUSE_HEAP_DUMP},
	    {"Ergonomics", TALECHAIN_CAUSE_ERGONOMICS},
	    {"Concurrent GC", TALECHAIN_CAUSE_CONCURRENT},
	    {"G1 Periodic Collection", TALECHAIN_CAUSE_CONCURRENT},
	    {"Timer", TALECHAIN_CAUSE_CONCURRENT},
	    {"Warmup", TALECHAIN_CAUSE_CONCURRENT},
	    {"Allocation Rate", TALECHAIN_CAUSE_CONCURRENT},
	    {"Proactive", TALECHAIN_CAUSE_CONCURRENT},
	    {"High Usage", TALECHAIN_CAUSE_CONCURRENT},
	    {"Allocation Stall", TALECHAIN_CAUSE_ALLOCATION_STALL},
	    {"Upgrade To Full GC", TALECHAIN_CAUSE_ALLOCATION_STALL},
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].text, text) != 0)
			continue;
		if (concurrent && known[i].cause == TALECHAIN_CAUSE_ALLOCATION)
			return TALECHAIN_CAUSE_ALLOCATION_STALL;
		return known[i].cause;
	}
	return TALECHAIN_CAUSE_OTHER;
}
