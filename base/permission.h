/* permission.h: why the kernel refuses tracing, and what to do.
 *
 * "Not permitted" has many causes: no root, a container's root without
 * capabilities, a seccomp filter, lockdown.  Each needs a different remedy, so
 * the message must name the cause.  Most causes show in /proc/self/status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of capabilities, defined here as some are newer than our headers. */
#define PERMISSION_DAC_READ_SEARCH (UINT64_C(1) << 2)
#define PERMISSION_SYS_PTRACE (UINT64_C(1) << 19)
#define PERMISSION_SYS_NICE (UINT64_C(1) << 23)
#define PERMISSION_SYS_ADMIN (UINT64_C(1) << 21)
#define PERMISSION_PERFMON (UINT64_C(1) << 38)
#define PERMISSION_BPF (UINT64_C(1) << 39)
#define PERMISSION_TRACE (PERMISSION_BPF | PERMISSION_PERFMON)

struct permission {
	bool root; /* effective user 0 */
	uint64_t effective, bounding;
	bool filtered;	   /* a seccomp filter is in force */
	char lockdown[24]; /* of the kernel: "integrity"; "": none */
	char unit[64];	   /* systemd service of this process; "": none */
	bool container;	   /* in a pid namespace of its own */
};

#define PERMISSION_TEXT 250 /* bytes of each text below, at most */

/* Read this process's permissions from /proc and /sys. */
void permission_read(struct permission *p);

/* True if the process has the capabilities that tracing the kernel needs. */
bool permission_to_trace(const struct permission *p);

/* For a refusal (EPERM) to trace the kernel, write the reason, as part of a
 * sentence; or the command that permits it.  Both return out. */
char *permission_why(const struct permission *p, char *out, size_t size);
char *permission_remedy(const struct permission *p, char *out, size_t size);

/* For a process or file of that user that cannot be examined, write the remedy:
 * "run tailor as bob or as root", or the needed capabilities that root lacks
 * here.  Returns out. */
char *permission_remedy_user(const struct permission *p, const char *user,
    uint64_t needed, char *out, size_t size);

/* The same, as a command that starts this program as that user. */
char *permission_start_as(const struct permission *p, const char *user,
    uint64_t needed, char *out, size_t size);
