/* borrow.h: the command `tailor borrow`: runs a program in the CPU time that
 * servers leave over. */
#pragma once

/* Run it; argv[0] is "borrow".  Returns the exit status: that of the program,
 * or 125 (not begun), 126 (it cannot be executed), 127 (it is not found), as
 * env(1) has them.  If a signal ended the program, the same one ends us. */
int borrow_main(int argc, char **argv);
