/* Goal: a rule of hedging.allow is accepted unless libc could not compile or
 * match it in bounds, and then the reason is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "config/rule.h"

#define TWICE "a repeat of a repeat is not supported"
#define COUNT "repeat counts {} are not supported"
#define BACK "back references are not supported"
#define DEEP "its groups are in one another more than 8 deep"
#define SYNTAX "the expression is not a POSIX extended one"
#define FORM "it is not a method, a space and an expression"

static void
test_judged(void **state)
{
	static const struct {
		const char *rule, *why;
	} cases[] = {
	    {"POST ^/[^ ]*/_(search|msearch|count)$", NULL},
	    {"VERSION-CONTROL .", NULL},
	    {"POST a+b*c?(d+)*", NULL},
	    {"POST ((((((((a+)+)+)+)+)+)+)+)+", NULL},
	    {"POST (a)(a)(a)(a)(a)(a)(a)(a)(a)(a)", NULL},
	    {"POST \\++\\*+\\\\+", NULL},
	    {"POST [+*]+[]+*]+[^]+*]+", NULL},
	    {"POST [[:alpha:]+*]+[[.+.]*+]+[[=+=]++]*", NULL},
	    {"POST [{][}]\\{[\\]+", NULL},
	    {"POST [a[]+", NULL},
	    {"", FORM},
	    {"POST", FORM},
	    {"POST ", FORM},
	    {"post /", FORM},
	    {" /", FORM},
	    {"ABCDEFGHIJKLMNOPQ /", FORM},
	    {"CONNECT .", "CONNECT and TRACE are never forwarded"},
	    {"TRACE .", "CONNECT and TRACE are never forwarded"},
	    {"POST a++", TWICE},
	    {"POST a*+", TWICE},
	    {"POST [a]?*", TWICE},
	    {"POST \\+++", TWICE},
	    {"POST (a)++", TWICE},
	    {"POST []a]++", TWICE},
	    {"POST [[:alpha:]]++", TWICE},
	    {"POST a{9}", COUNT},
	    {"POST a+{9}", COUNT},
	    {"POST (a)\\1", BACK},
	    {"POST (((((((((a)))))))))", DEEP},
	    {"POST (", SYNTAX},
	    {"POST [", SYNTAX},
	    {"POST []", SYNTAX},
	    {"POST [^", SYNTAX},
	    {"POST [a[:alpha:", SYNTAX},
	    {"POST [a[:alpha:]", SYNTAX},
	    {"POST a\\", SYNTAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = rule_judge(cases[i].rule);

		print_message("%s\n", cases[i].rule);
		if (cases[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(
			    why == NULL ? "accepted" : why, cases[i].why);
	}
}

static void
test_length(void **state)
{
	char rule[300] = "POST ";

	(void)state;
	memset(rule + 5, 'a', 256);
	assert_null(rule_judge(rule));
	rule[5 + 256] = 'a';
	assert_string_equal(
	    rule_judge(rule), "the expression has more than 256 bytes");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_judged),
	    cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
