/*
 * unit.h: what each program of unit tests has: cmocka, its tests, and main().
 *
 * A test is written TEST(its_name) { ... }, and is run because it is there.
 * The tests of a program run in the order in which its file has them.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Before main(): run this test, too; line: where its file has it. */
void unit_add(const struct CMUnitTest *test, unsigned line);

/* Run all that were added, between a setup and a teardown of the whole program,
 * which may be NULL; returns how many failed.  A program that has a main() of
 * its own, to prepare something, calls it; for the others there is one. */
int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown);

/* A number below this one, drawn by xorshift64: the same ones in every run. */
uint64_t unit_draw(uint64_t below);

/* Skip this test, because of what is said as by printf(). */
#define unit_skip(...)                                          \
	do {                                                    \
		print_message("skipped, because " __VA_ARGS__); \
		print_message("\n");                            \
		skip();                                         \
	} while (0)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test with a setup and a teardown of its own; either may be NULL. */
#define TEST_WITH(name, setup, teardown)                                      \
	static void name(void **state);                                       \
	__attribute__((constructor)) static void name##_add(void)             \
	{                                                                     \
		unit_add(&(struct CMUnitTest)cmocka_unit_test_setup_teardown( \
			     name, setup, teardown),                          \
		    __LINE__);                                                \
	}                                                                     \
	static void name(__attribute__((unused)) void **state)
