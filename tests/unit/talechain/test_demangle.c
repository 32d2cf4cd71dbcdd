/* Goal: mangled names are shown as people write them; what is not understood,
 * or is hostile, stays as it is. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "talechain/symbols/sources.h"

TEST(test_names)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
	    {"_ZN13ObjectMonitor5enterEP10JavaThread", "ObjectMonitor::enter"},
	    {"_ZNK4Node3endEv.part.0", "Node::end"},
	    {"_Z3runv", "run"},
	    {"_ZL5startPv", "start"},
	    {"_ZN12_GLOBAL__N_13runEv", "::run"},
	    {"_ZN3BoxC1Ev", "Box::Box"},
	    /* Template arguments. */
	    {"_ZN3BoxI3DogLi7EE4openEv", "Box::open"},
	    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back"},
	    {"_ZN3BoxIXgtLi1ELi2EEE4openEv", "Box::open"},
	    /* Brackets that are none. */
	    {"_ZlsRK3BoxS1_", "operator<<"},
	    {"_ZN3BoxptEv", "Box::operator->"},
	    {"_ZN3BoxclEi", "Box::operator()"},
	    {"_ZN3BoxltIiEEbT_", "bool Box::operator<"},
	    /* Rust. */
	    {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
	    /* Not mangled, not understood, cut off. */
	    {"", ""},
	    {"_", "_"},
	    {"_Z", "_Z"},
	    {"main", "main"},
	    {"_ZN", "_ZN"},
	    {"_ZN3Bo", "_ZN3Bo"},
	    {"_ZN13ObjectMonitor5enterEP10Java",
		"_ZN13ObjectMonitor5enterEP10Java"},
	    {"_ZN9999999999999999999xE", "_ZN9999999999999999999xE"},
	};
	char out[SYMBOL_NAME];

	for (size_t i = 0; i < COUNT(rows); i++) {
		symbol_demangle(out, rows[i].name);
		assert_string_equal(out, rows[i].shown);
	}
}

/* Goal: a name whose parts double is not written out. */
TEST(test_doubling)
{
	char name[600] = "_Z1fFiiE", out[SYMBOL_NAME];
	size_t n = strlen(name);

	for (unsigned i = 0; i < 30; i++)
		n += (size_t)snprintf(
		    name + n, sizeof(name) - n, "FS%c_S%c_E", '0', '0');
	symbol_demangle(out, name);
	assert_memory_equal(out, name, SYMBOL_NAME - 1);
	assert_int_equal(out[SYMBOL_NAME - 1], '\0');
}
