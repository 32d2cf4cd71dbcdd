/* demangle.h: names of C++ and Rust functions, as people write them.
 *
 * Of the Itanium ABI's mangling (which both use) the common form: nested names
 * with template arguments, which are left out, as are a function's parameters.
 * Operators, lambdas and names that were cut off stay as they are. */
#pragma once

#include <stddef.h>

/* "ObjectMonitor::enter" for "_ZN13ObjectMonitor5enterEP10JavaThread".
 *   out   receives the name, or a copy of the mangled one, cut at size
 *   size  > 0
 * Returns out. */
char *demangle(char *out, size_t size, const char *name);
