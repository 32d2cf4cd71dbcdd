/* symbols.h: the names of the addresses in a tale's stacks.
 *
 * This folder owns the way from an address of a process, or of the kernel, to a
 * name: /proc/PID/maps, the symbol tables of the files mapped there, the map
 * that a runtime writes of the code it makes (/tmp/perf-PID.map), and
 * /proc/kallsyms.  An address means something only while its process
 * lives, so names are added to a tale as it is cut out of the stream, and are
 * kept with it.
 *
 * Address 0 has the name of a server's runtime if that runtime moves work
 * between threads (Go): threads are then no evidence of what was computed for
 * which request.
 *
 * A symbol is a name only for addresses within its length; an address in no
 * symbol gets the name of its file: "[libc.so.6]".  Debug files are not looked
 * for.  What a server's process has mapped or written is not trusted: files are
 * read, never mapped, and bounded.
 *
 * HotSpot's compiled code uses the frame pointer for other values, unless it
 * runs with -XX:+PreserveFramePointer.  Without it what a stack has beyond the
 * first compiled method is no evidence, and is removed from the tale: address 1
 * is there instead, whose name is that flag.
 *
 * An address whose name a runtime could give, if it were started so, has that
 * command as its name, once for each process.
 *
 * Cost: 4 ms of CPU for a file with 58,000 symbols, 50 ms for the kernel's
 * 122,000, once for each address: the last 4096 are remembered.  Blocks; for
 * the analysis thread. */
#pragma once

#include "talechain/tale/tale.h"

struct symbols;

/* The way to have a JVM write a map of its compiled code that is of since or
 * later. */
struct symbols_maps {
	/* Returns 0: no newer one comes now; -EAGAIN: it is being written;
	 * -EOPNOTSUPP: the JVM is older than JDK 17; or another negative errno.
	 * NULL: there is no way. */
	int (*ask)(void *user, pid_t pid, struct instant since);
	void *user; /* borrowed */
};

/*
 *   kallsyms  a descriptor of /proc/kallsyms, opened with the privilege to see
 *             addresses; *out owns it; -1: the kernel has no names
 *   maps      copied; NULL: there is no way
 * Returns 0 or -ENOMEM, and then kallsyms is closed, too.
 */
int symbols_new(
    struct symbols **out, int kallsyms, const struct symbols_maps *maps);
void symbols_free(struct symbols **sp);

/* Have JVMs write maps if stacks of a tale that was just sliced have Java
 * methods without a name, or with a doubtful one.  Returns how long to wait
 * before the next call, ns; 0: symbols_name will find no more names later. */
int64_t symbols_wait(struct symbols *s, const struct tale *t);

/* Add SYMBOL entries to a tale that was just sliced.  An address that cannot be
 * found gets none; at most SYMBOLS_TALE are looked up.
 *   hurry  a client waits: use kernel names only if they are remembered */
#define SYMBOLS_TALE 256
void symbols_name(struct symbols *s, struct tale *t, bool hurry);
