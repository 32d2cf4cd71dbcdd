/* demangle.h: names of C++ and Rust functions, as people write them.
 *
 * Reads the common form of the Itanium ABI's mangling, which both use: nested
 * names.  Template arguments and a function's parameters are left out.
 * Operators, lambdas and truncated names are not demangled. */
#pragma once

#include <stddef.h>

/* Turn "_ZN13ObjectMonitor5enterEP10JavaThread" into "ObjectMonitor::enter".
 *   out   receives the name, or a copy of the mangled name; cut at size
 *   size  > 0
 * Returns out. */
char *demangle(char *out, size_t size, const char *name);
