/*
 * test_faults.c: page faults by the thousand, as a timeline tells them.
 */
#include "tests/unit/unit.h"

#include "talechain/tale/tale_struct.h"

#include "tests/unit/talechain/plot.h"

#define PAGE 4096

/* A request in which A works for so long. */
static void
begin(struct plot *p, int64_t us)
{
	plot_init(p);
	scene_close(&p->scene);
	scene_open(&p->scene, 16);
	p->left = us - 3;
	p->sent = us;
	p->back = us + 5;
}

/* From first_us on, each of 2 us, so many us apart. */
static void
touch(struct plot *p, unsigned n, int64_t first_us, int64_t apart_us)
{
	for (unsigned i = 1; i <= n; i++)
		KERNEL(p, first_us + apart_us * i, A_TID, A_PID,
		    TALECHAIN_PAGEFAULT, PAGE * (uint64_t)i, 2 * US, PAGE, 0);
}

/* How many entries of a tale are page faults. */
static size_t
rows(const struct tale *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->entries; i++)
		n += t->entry[i].slot.event.type == TALECHAIN_PAGEFAULT;
	return n;
}

/* Goal: more faults than a tale holds: the time of all is in it. */
TEST(test_thousands)
{
	struct story *s;
	struct plot p;

	begin(&p, 70000);
	touch(&p, 20000, 1000, 3);
	s = plot_tell(&p);
	assert_int_equal(rows(p.tale), 1);
	assert_int_equal(p.tale->omitted, 0);
	assert_int_equal(s->cause_ns[TALE_CAUSE_PAGE_FAULT], 59999 * US);
	assert_int_equal(s->verdict.cause, TALE_CAUSE_PAGE_FAULT);
	assert_string_equal(s->verdict.evidence[0],
	    "20000 page faults, 60.0 ms of it, each under 0.050 ms; 80000 KiB "
	    "of memory, up to 4 KiB at once");
	plot_fini(&p);
}

/* Goal: faults with work between them stay apart, and so does the work. */
TEST(test_apart)
{
	struct story *s;
	struct plot p;

	begin(&p, 70000);
	touch(&p, 1000, 1000, 10);
	s = plot_tell(&p);
	assert_int_equal(rows(p.tale), 1000);
	assert_int_equal(s->cause_ns[TALE_CAUSE_PAGE_FAULT], 2000 * US);
	plot_fini(&p);
}

/* Goal: faults that differ are not joined: size, disk, length, thread. */
TEST(test_unlike)
{
	struct story *s;
	struct plot p;

	begin(&p, 10000);
	touch(&p, 2, 1000, 3);
	KERNEL(
	    &p, 1020, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 3 * US, 2 << 20, 0);
	KERNEL(&p, 1030, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 2 * US, PAGE, 1);
	KERNEL(
	    &p, 1140, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 99 * US, PAGE, 0);
	KERNEL(&p, 1143, A_TID, A_PID, TALECHAIN_PAGEFAULT, 1, 2 * US, PAGE, 0);
	KERNEL(&p, 1144, PROXY_TID, 99, TALECHAIN_PAGEFAULT, 1, US, PAGE, 0);
	s = plot_tell(&p);
	assert_int_equal(rows(p.tale), 6);
	assert_int_equal(s->cause_ns[TALE_CAUSE_PAGE_FAULT], 112 * US);
	plot_fini(&p);
}
