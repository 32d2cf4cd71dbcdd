/*
 * permission.h: why the kernel refuses to be looked into, and what to do.
 *
 * "Not permitted" has many causes: no root, a container's root without
 * capabilities, a seccomp filter, lockdown.  Each calls for something else,
 * so the message has to know which it is.  /proc/self/status says most.
 */
#ifndef TAILOR_BASE_PERMISSION_H
#define TAILOR_BASE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of capabilities; some are newer than headers we build with. */
#define PERMISSION_DAC_READ_SEARCH (UINT64_C(1) << 2)
#define PERMISSION_SYS_PTRACE (UINT64_C(1) << 19)
#define PERMISSION_SYS_ADMIN (UINT64_C(1) << 21)
#define PERMISSION_PERFMON (UINT64_C(1) << 38)
#define PERMISSION_BPF (UINT64_C(1) << 39)
#define PERMISSION_TRACE (PERMISSION_BPF | PERMISSION_PERFMON)

struct permission {
	bool root; /* effective user 0 */
	uint64_t effective, bounding;
	bool filtered;	   /* a seccomp filter is in force */
	char lockdown[24]; /* of the kernel: "integrity"; "": none */
};

/* What this process may.  Reads /proc and /sys. */
void permission_read(struct permission *p);

/* Whether it has the capabilities that tracing the kernel needs. */
bool permission_to_trace(const struct permission *p);

/*
 * permission_why(p, out, size) / permission_remedy(p, out, size):
 * Tracing the kernel was refused (EPERM): why, and what would change it; parts
 * of sentences, in 150 bytes each.  Return out.
 */
char *permission_why(const struct permission *p, char *out, size_t size);
char *permission_remedy(const struct permission *p, char *out, size_t size);

/*
 * permission_remedy_user(p, user, needed, out, size):
 * A process or file is of that user, and cannot be looked at: "run tailor as
 * bob or as root", or which of the needed capabilities root lacks here.
 * Returns out.
 */
char *permission_remedy_user(const struct permission *p, const char *user,
    uint64_t needed, char *out, size_t size);

#endif
