/* Goal: a refusal of the kernel is explained by its true reason, and what is
 * advised would change it. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/permission.h"

#define ALL (~UINT64_C(0))
#define NOT_BPF (ALL & ~PERMISSION_BPF & ~PERMISSION_SYS_ADMIN)
#define NEITHER (NOT_BPF & ~PERMISSION_PERFMON)

TEST(test_tracing)
{
	static const struct {
		struct permission p;
		bool may;
		const char *why, *remedy;
	} row[] = {
	    {{false, 0, ALL, false, "", "", false}, false,
		"CAP_BPF and CAP_PERFMON are missing", "or run tailor as root"},
	    {{false, 0, 0, false, "", "", false}, false,
		"CAP_BPF and CAP_PERFMON are missing", "--cap-add"},
	    {{true, NEITHER, NEITHER, false, "", "", false}, false,
		"CAP_BPF and CAP_PERFMON are missing: this root", "--cap-add"},
	    {{true, NOT_BPF, NOT_BPF, true, "", "", false}, false,
		"CAP_BPF is missing: this root", "--cap-add"},
	    {{false, PERMISSION_BPF, ALL, false, "", "", false}, false,
		"CAP_PERFMON is missing", "setcap"},
	    {{true, NEITHER | PERMISSION_SYS_ADMIN, ALL, true, "integrity", "",
		 false},
		true, "seccomp", "SystemCallFilter="},
	    {{true, ALL, ALL, false, "integrity", "", false}, true,
		"locked down (integrity)", "lockdown"},
	    {{false, PERMISSION_TRACE, ALL, false, "", "", false}, true,
		"security module", "dmesg"},
	    /* What bounds a service is its unit. */
	    {{false, 0, 0, false, "", "tailor@x.service", false}, false,
		"CAP_BPF and CAP_PERFMON are missing",
		"systemctl edit tailor@x.service: AmbientCapabilities=CAP_BPF"},
	};
	char text[PERMISSION_TEXT];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct permission *p = &row[i].p;

		assert_int_equal(permission_to_trace(p), row[i].may);
		permission_why(p, text, sizeof(text));
		if (strstr(text, row[i].why) == NULL)
			assert_string_equal(text, row[i].why);
		assert_true(strlen(text) < PERMISSION_TEXT - 1);
		permission_remedy(p, text, sizeof(text));
		if (strstr(text, row[i].remedy) == NULL)
			assert_string_equal(text, row[i].remedy);
		assert_true(strlen(text) < PERMISSION_TEXT - 1);
		/* Root is not advised to become root. */
		if (p->root)
			assert_null(strstr(text, "as root"));
	}
}

TEST(test_of_another_user)
{
	const uint64_t both =
	    PERMISSION_SYS_PTRACE | PERMISSION_DAC_READ_SEARCH;
	const struct permission user = {.bounding = ALL};
	const struct permission root = {.root = true, .effective = ALL};
	const struct permission caged = {
	    .root = true, .effective = ALL & ~PERMISSION_SYS_PTRACE};
	char text[120];

#define SAYS(p, name, needed) \
	permission_remedy_user(&(p), name, needed, text, sizeof(text))
	assert_string_equal(
	    SAYS(user, "bob", both), "run tailor as bob or as root");
	assert_string_equal(SAYS(user, "root", both), "run tailor as root");
	assert_string_equal(SAYS(caged, "bob", both),
	    "run tailor as bob, or give this root CAP_SYS_PTRACE");
	assert_string_equal(
	    SAYS(caged, "root", both), "give this root CAP_SYS_PTRACE");
	assert_string_equal(
	    SAYS(root, "bob", both), "run tailor as bob in its namespaces");
	assert_string_equal(
	    SAYS(root, "root", both), "run tailor in its namespaces");
#undef SAYS
}

TEST(test_start_as)
{
	/* Goal: the command is one for where this program runs. */
	const struct permission unit = {.unit = "tailor.service"};
	const struct permission shell = {.unit = ""};
	const struct permission container = {.container = true};
	char text[PERMISSION_TEXT];

	assert_string_equal(
	    permission_start_as(&unit, "bob", 0, text, sizeof(text)),
	    "systemctl edit tailor.service: [Service] User=bob, then restart "
	    "it");
	assert_non_null(
	    strstr(permission_start_as(&shell, "bob", 0, text, sizeof(text)),
		"sudo -u bob "));
	permission_start_as(&container, "bob", 0, text, sizeof(text));
	assert_non_null(strstr(text, "--user bob"));
	assert_non_null(strstr(text, "--pid host"));
	assert_true(strlen(text) < PERMISSION_TEXT - 1);
}

TEST(test_of_this_process)
{
	struct permission p;

	/* Goal: what is read is what the kernel says. */
	permission_read(&p);
	assert_int_equal(p.effective & ~p.bounding, 0);
	assert_null(strpbrk(p.lockdown, "[] \n"));
}
