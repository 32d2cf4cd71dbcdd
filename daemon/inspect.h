/* inspect.h: a configuration against this machine: users, CPUs, programs and
 * files that it names.  Main thread. */
#pragma once

#include <sched.h>

struct config;
struct config_errors;

/* Find the user of process.user.  Call it as the user who starts Tailor.  0, or
 * -EINVAL with an error added that says what to do. */
int inspect_user(const struct config *c, struct config_errors *errors);

/* Check CPUs, programs, directories and files as the present user: nothing is
 * started, made or written.  A user's later rights, and the environment of a
 * service, may differ.  Opens nothing; about 0.1 ms.  0 or -EINVAL with errors
 * added. */
int inspect_machine(const struct config *c, struct config_errors *errors);

/* Try whether a thread of ours may run on some CPU of the set.  0, -EINVAL if
 * there is no such CPU for us, or another negative errno. */
int inspect_cpus(const cpu_set_t *set);
