#include "tailorctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/terminal.h"

#define ROWS 24 /* if the terminal's size is not known */

static struct {
	bool live, keys; /* output is a terminal; keys are read */
	bool paused;
	const char *hint;      /* static */
	struct termios before; /* saved before handlers are installed */
} screen;

/* Also called by signal handlers. */
static void
restore(void)
{
	static const char show_cursor[] = "\033[?25h\n";

	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
	if (write(STDOUT_FILENO, show_cursor, sizeof(show_cursor) - 1) < 0)
		return; /* the terminal is gone */
}

static void
enter(void)
{
	static const char hide_cursor[] = "\033[?25l";
	struct termios raw = screen.before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	if (write(STDOUT_FILENO, hide_cursor, sizeof(hide_cursor) - 1) < 0)
		return;
}

/* Restore the terminal, then let the signal end or stop the process. */
static void
on_signal(int number)
{
	int before = errno;

	restore();
	if (number == SIGTSTP) {
		raise(SIGSTOP);
		enter();
		errno = before;
		return;
	}
	signal(number, SIG_DFL);
	raise(number);
}

void
screen_open(const struct ctl_options *o)
{
	static const int number[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP,
	    SIGABRT, SIGSEGV, SIGBUS};
	/* A write to a slow terminal must not end with EINTR. */
	struct sigaction action = {
	    .sa_handler = on_signal, .sa_flags = SA_RESTART};

	if (o->once || o->dump || o->json || !isatty(STDOUT_FILENO))
		return;
	screen.live = true;
	/* In the background, keys go to another program. */
	screen.keys = tcgetpgrp(STDIN_FILENO) == getpgrp() &&
		      tcgetattr(STDIN_FILENO, &screen.before) == 0;
	atexit(restore);
	for (unsigned i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		sigaction(number[i], &action, NULL);
	enter();
}

void
screen_begin(void)
{
	if (screen.live)
		printf("\033[H\033[2J"); /* home, clear */
}

uint32_t
screen_rows(void)
{
	struct winsize size;

	if (!screen.live)
		return UINT32_MAX;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0
		   ? size.ws_row
		   : ROWS;
}

static void
print_hint(void)
{
	bool colour = terminal_has_colour(stdout);

	/* Without a newline: the last row must not scroll. */
	if (screen.keys)
		printf("\r%sq quit  space %s  %s%s\033[K",
		    terminal_escape(colour, TERMINAL_DIM),
		    screen.paused ? "continue" : "pause", screen.hint,
		    terminal_escape(colour, TERMINAL_PLAIN));
	fflush(stdout);
}

void
screen_hint(const char *keys)
{
	screen.hint = keys;
	print_hint();
}

/* Return a key, or 0 if none was pressed in time. */
static int
read_key(int64_t ns)
{
	struct pollfd ready = {STDIN_FILENO, POLLIN, 0};
	struct timespec wait = {ns / NS_PER_S, (long)(ns % NS_PER_S)};
	unsigned char key;

	if (!screen.keys) {
		if (ns > 0)
			nanosleep(&wait, NULL);
		return 0;
	}
	if (ppoll(&ready, 1, &wait, NULL) <= 0)
		return 0;
	return read(STDIN_FILENO, &key, 1) == 1 ? key : SCREEN_QUIT;
}

int
screen_wait(int64_t ns)
{
	int key = read_key(ns);

	if (key == ' ') {
		screen.paused = !screen.paused;
		print_hint();
	}
	return key;
}

bool
screen_paused(void)
{
	return screen.paused;
}
