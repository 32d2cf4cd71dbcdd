/* tailorctl.c: inspect and control a running tailor.
 *
 * It uses the daemon's admin socket, or reads the event stream in shared memory
 * without the daemon.  Few commands change anything (actions.c, "switch").
 * Text from outside is printed without control characters (plain.h). */
#include <stdio.h>

#include "base/file.h"
#include "tailorctl/options.h"

static int (*const runs[COMMAND_COUNT])(const struct ctl_options *) = {
#define RUNS_X(name, argument, values, summary) \
	[COMMAND_##name] = command_##name,
    COMMANDS(RUNS_X)
#undef RUNS_X
};

int
main(int argc, char **argv)
{
	struct ctl_options options;
	int status;

	file_open_standard();
	status = options_parse(&options, argc, argv);
	if (status < 0)
		return STATUS_USAGE;
	status = status > 0 ? STATUS_OK : runs[options.command](&options);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("tailorctl: standard output");
		return STATUS_NO;
	}
	return status;
}
