/* Goal: mangled names are shown as people write them; what is not understood,
 * or was cut off, stays as it is. */
#include "tests/unit/unit.h"

#include "base/array.h"
#include "base/demangle.h"

TEST(test_names)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
	    /* Parameters are left out, and so is what was cut off of them. */
	    {"_ZN13ObjectMonitor5enterEP10JavaThread", "ObjectMonitor::enter"},
	    {"_ZN13ObjectMonitor5enterEP10Java", "ObjectMonitor::enter"},
	    {"_ZNK4Node3endEv.part.0", "Node::end"},
	    {"_Z3runv", "run"},
	    {"_ZL5startPv", "start"},
	    /* Template arguments. */
	    {"_ZN3BoxI3DogLi7EE4openEv", "Box::open"},
	    {"_ZN3BoxIN2ns3DogESt4pairIjS1_EE4openEv", "Box::open"},
	    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back"},
	    /* Rust. */
	    {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
	    /* Not mangled, not understood, cut off. */
	    {"", ""},
	    {"_", "_"},
	    {"_Z", "_Z"},
	    {"main", "main"},
	    {"_ZN", "_ZN"},
	    {"_ZN3Box", "_ZN3Box"},
	    {"_ZN3Bo", "_ZN3Bo"},
	    {"_ZN3BoxI3DogE", "_ZN3BoxI3DogE"},
	    {"_ZN3BoxI", "_ZN3BoxI"},
	    {"_ZN3BoxC1Ev", "_ZN3BoxC1Ev"},
	    {"_ZplRK3BoxS1_", "_ZplRK3BoxS1_"},
	    {"_ZN9999999999999999999xE", "_ZN9999999999999999999xE"},
	};
	char out[64];

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(
		    demangle(out, sizeof(out), rows[i].name), rows[i].shown);
}

TEST(test_room)
{
	/* Goal: a name without room is the mangled one, cut. */
	char out[8];

	assert_string_equal(
	    demangle(out, sizeof(out), "_ZN3Box4openEv"), "_ZN3Box");
	assert_string_equal(demangle(out, 1, "main"), "");
}
