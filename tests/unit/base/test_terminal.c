/* Goal: width and colours are those of a terminal; a pipe has 80 columns and
 * none. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/terminal.h"

static FILE *tty, *pipe_end;
static int master;

static void
resize(unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};

	assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
}

static int
open_both(void **state)
{
	int fd[2];

	(void)state;
	unsetenv("COLUMNS");
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	tty = fopen(ptsname(master), "w");
	assert_non_null(tty);
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	pipe_end = fdopen(fd[1], "w");
	assert_non_null(pipe_end);
	return 0;
}

static int
close_both(void **state)
{
	(void)state;
	fclose(tty);
	fclose(pipe_end);
	close(master);
	return 0;
}

TEST_WITH(test_columns, open_both, close_both)
{
	/* Goal: COLUMNS, then the terminal's size, then 80; within limits. */
	resize(0);
	assert_int_equal(terminal_columns(tty), 80);
	resize(200);
	assert_int_equal(terminal_columns(tty), 200);
	resize(3);
	assert_int_equal(terminal_columns(tty), TERMINAL_COLUMNS_MIN);
	resize(60000);
	assert_int_equal(terminal_columns(tty), TERMINAL_COLUMNS_MAX);
	setenv("COLUMNS", "120", 1);
	assert_int_equal(terminal_columns(tty), 120);
	setenv("COLUMNS", "-7", 1);
	resize(90);
	assert_int_equal(terminal_columns(tty), 90);
	setenv("COLUMNS", "wide", 1);
	assert_int_equal(terminal_columns(tty), 90);
}

TEST_WITH(test_pipe, open_both, close_both)
{
	/* Goal: a pipe has 80 columns and no colour, whatever is set. */
	setenv("COLUMNS", "120", 1);
	assert_int_equal(terminal_columns(pipe_end), 80);
	assert_false(terminal_has_colour(pipe_end));
}

TEST_WITH(test_colour, open_both, close_both)
{
	/* Goal: NO_COLOR, a dumb terminal and one without a name have none. */
	assert_true(terminal_has_colour(tty));
	setenv("NO_COLOR", "", 1);
	assert_true(terminal_has_colour(tty));
	setenv("NO_COLOR", "1", 1);
	assert_false(terminal_has_colour(tty));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	assert_false(terminal_has_colour(tty));
	unsetenv("TERM");
	assert_false(terminal_has_colour(tty));
	assert_string_equal(terminal_escape(false, TERMINAL_RED), "");
	assert_string_equal(terminal_escape(true, TERMINAL_PLAIN), "\033[0m");
}
