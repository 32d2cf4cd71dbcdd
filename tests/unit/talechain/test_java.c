/*
 * Goal: what Java emits arrives in C as the same events on the same clock,
 * costs no allocation, and outlives the going and coming of Tailor.
 *
 * A JVM runs java/Drive.java and does as it is told through a pipe; this
 * side plays Tailor.  Skipped without a JDK.
 */
#include "tests/unit/unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "talechain/timeline/cursor.h"
#include "tests/unit/talechain/stub.h"

#define JAVA_TEST "tests/unit/talechain/java"

struct drive {
	struct stub stub;
	char classes[96]; /* inside the stub's directory */
	FILE *in, *out;	  /* of the JVM */
	pid_t pid;
};

static bool
jdk_present(void)
{
	return system("javac -version >/dev/null 2>&1") == 0 &&
	       system("java -version >/dev/null 2>&1") == 0;
}

static int
setup(void **state)
{
	static struct drive d;
	char command[512];
	int to[2], from[2];

	*state = NULL;
	if (!jdk_present())
		return 0;
	stub_open(&d.stub);
	snprintf(d.classes, sizeof(d.classes), "%s/classes", d.stub.directory);
	snprintf(command, sizeof(command),
	    "javac -Xlint:all -Werror -d %s talechain/TaleChain.java " JAVA_TEST
	    "/Drive.java",
	    d.classes);
	assert_int_equal(system(command), 0);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	d.pid = fork();
	assert_true(d.pid >= 0);
	if (d.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		setenv("TALECHAIN_SOCKET", d.stub.path, 1);
		execlp("java", "java", "-XX:+UseSerialGC", "-Xmx64m", "-cp",
		    d.classes, "Drive", d.stub.path, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	d.in = fdopen(to[1], "w");
	d.out = fdopen(from[0], "r");
	*state = &d;
	return 0;
}

static int
teardown(void **state)
{
	struct drive *d = *state;
	char command[128];
	int status;

	if (d == NULL)
		return 0;
	fclose(d->in);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	assert_int_equal(status, 0);
	fclose(d->out);
	snprintf(command, sizeof(command), "rm -r %s", d->classes);
	assert_int_equal(system(command), 0);
	stub_close(&d->stub);
	return 0;
}

static void
order(struct drive *d, const char *command)
{
	fprintf(d->in, "%s\n", command);
	fflush(d->in);
}

static void
hear(struct drive *d, char line[128])
{
	assert_non_null(fgets(line, 128, d->out));
	line[strcspn(line, "\n")] = '\0';
}

/* Take everything there is; event i must say i.  Returns how many. */
static uint64_t
take_all(struct talechain_cursor *c, struct drive *d,
    struct stub_client *client, uint64_t *number, uint64_t from_ns,
    uint64_t to_ns)
{
	struct talechain_event e;
	uint64_t lost, count = 0, i;

	for (;;)
		switch (talechain_take(c, &e, &lost, instant_now())) {
		case TALECHAIN_TAKE_NONE:
			return count;
		case TALECHAIN_TAKE_LOST:
			*number += lost;
			break;
		case TALECHAIN_TAKE_OK:
			i = (*number)++;
			count++;
			assert_int_equal(e.type, TALECHAIN_APP_MARK);
			assert_int_equal(e.arg[0], i);
			assert_int_equal(e.arg[1], 3 * i);
			assert_int_equal(e.arg[2], ~i);
			assert_int_equal(e.arg[3], i ^ 0x5555);
			assert_int_equal(e.version, 1);
			assert_int_equal(e.flags, 0);
			assert_int_equal(e.cpu, UINT32_MAX);
			assert_int_equal(e.pid, d->pid);
			assert_int_equal(e.tid, client->tid);
			assert_in_range(e.ts, from_ns, to_ns);
		}
}

/* Whether the JVM speaks; else it asks for a channel. */
static bool
speaks(struct drive *d)
{
	struct pollfd p[] = {{.fd = d->stub.fd, .events = POLLIN},
	    {.fd = fileno(d->out), .events = POLLIN}};

	assert_true(poll(p, 2, 120000) > 0);
	return p[0].revents == 0;
}

/* Give it a channel, until it speaks: it does not wait for us for longer than a
 * second, and then asks again. */
static void
grant(struct drive *d, struct stub_client *c)
{
	stub_accept(&d->stub, c, STUB_GRANT);
	while (!speaks(d)) {
		stub_release(c);
		stub_accept(&d->stub, c, STUB_GRANT);
	}
}

/* Two bursts of events, the second of several laps; all that is not lost is
 * right. */
static void
check_bursts(struct drive *d, struct stub_client *c, uint64_t *number)
{
	struct talechain_cursor cursor;
	unsigned long long from, to;
	uint64_t before, after;
	char line[128], task[64];

	order(d, "emit 500");
	before = talechain_now();
	grant(d, c);
	assert_int_equal(
	    talechain_cursor_init(&cursor, c->channel, c->bytes), 0);
	assert_int_equal(c->kind, TALECHAIN_KIND_APP);
	assert_int_equal(c->slot_log2, 10);
	assert_string_equal(c->name, "drive");
	snprintf(
	    task, sizeof(task), "/proc/%ld/task/%ld", (long)d->pid, c->tid);
	assert_int_equal(access(task, F_OK), 0);
	hear(d, line);
	after = talechain_now();
	assert_int_equal(sscanf(line, "emitted %llu %llu", &from, &to), 2);
	/* One clock: Java's instants lie between ours. */
	assert_in_range(from, before, to);
	assert_in_range(to, from, after);
	assert_int_equal(take_all(&cursor, d, c, number, from, to), 500);

	order(d, "emit 5000");
	hear(d, line);
	after = talechain_now();
	assert_int_equal(
	    take_all(&cursor, d, c, number, to, after) + cursor.lost, 5000);
	assert_true(cursor.lost > 0);
	assert_int_equal(cursor.taken + cursor.lost, c->channel->head);
}

TEST(test_java)
{
	struct drive *d = *state;
	struct stub_client c;
	unsigned long long bytes;
	uint64_t number = 0;
	char line[128];

	if (d == NULL)
		unit_skip("no JDK (javac, java) found");
	hear(d, line);
	assert_string_equal(line, "ready");
	/* The second round is a Tailor that was restarted. */
	for (int round = 0; round < 2; round++) {
		check_bursts(d, &c, &number);
		order(d, "words");
		hear(d, line);
		assert_string_equal(line, "words 0 0 0 -1");
		assert_int_equal(c.channel->word[TALECHAIN_WORD_QUEUE], 17);
		assert_int_equal(
		    c.channel->word[TALECHAIN_WORD_REQUEST], 0xdeadbeef);
		assert_int_equal(c.channel->state, 99);
		if (round == 0) {
			order(d, "allocation 200000");
			hear(d, line);
			/* The JVM's own odds and ends are hundreds of bytes; an
			 * object per event would be 3 MB. */
			assert_int_equal(
			    sscanf(line, "allocated %llu", &bytes), 1);
			assert_in_range(bytes, 0, 100000);
			number += 400000;
		}
		stub_release(&c); /* the end of Tailor */
		order(d, "gone");
		hear(d, line);
		assert_string_equal(line, "gone");
	}
}

/* Goal: a refusal or a foreign reply leaves Java a no-op that tries again. */
TEST(test_refused)
{
	static const enum stub_reply replies[] = {
	    STUB_REFUSE, STUB_SHORT, STUB_STRANGE};
	struct drive *d = *state;
	struct stub_client c;
	char line[128];
	size_t i;

	if (d == NULL)
		unit_skip("no JDK (javac, java) found");
	order(d, "emit 1");
	for (i = 0; i < 3; i++) {
		stub_accept(&d->stub, &c, replies[i]);
		stub_release(&c);
	}
	grant(d, &c);
	hear(d, line);
	assert_int_equal(c.channel->head, 1);
	stub_release(&c);
	order(d, "gone");
	hear(d, line);
}

/* Goal: threads of a pool each get a ring of their own, and give it back. */
TEST(test_threads)
{
	struct drive *d = *state;
	struct stub_client c[3], again;
	char line[128];
	int i, granted = 0;

	if (d == NULL)
		unit_skip("no JDK (javac, java) found");
	order(d, "threads 3");
	while (!speaks(d)) {
		stub_accept(&d->stub, &again, STUB_GRANT);
		if (strcmp(again.name, "drive") == 0) {
			stub_release(&again); /* the main thread's */
			continue;
		}
		assert_memory_equal(again.name, "pool-worker-", 12);
		for (i = 0; i < granted && c[i].tid != again.tid; i++)
			;
		if (i < granted)
			stub_release(&c[i]); /* we were late, it asks again */
		assert_true(i < 3);
		c[i] = again;
		granted += i == granted;
	}
	assert_int_equal(granted, 3);
	hear(d, line);
	assert_string_equal(line, "joined");
	for (i = 0; i < 3; i++) {
		assert_int_equal(c[i].channel->head, 1);
		assert_int_equal(talechain_slots(c[i].channel)->tid, c[i].tid);
		assert_int_not_equal(c[i].tid, c[(i + 1) % 3].tid);
		/* Closed by Java: our end reads its end. */
		assert_int_equal(read(c[i].socket, line, 1), 0);
		stub_release(&c[i]);
	}
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return unit_run(setup, teardown);
}
