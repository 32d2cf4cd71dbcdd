/* Goal: lines cannot be forged, none is lost uncounted, nobody waits. */
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* --- stderr, captured --------------------------------------------------- */

static int real_stderr = -1;
static char captured[1 << 20];

static void
redirect_begin(int fd)
{
	real_stderr = dup(STDERR_FILENO);
	assert_true(real_stderr >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
}

static void
redirect_end(void)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
}

static int
capture_begin(void)
{
	int fd = memfd_create("stderr", 0);

	assert_true(fd >= 0);
	redirect_begin(fd);
	return fd;
}

/* What was written meanwhile, in captured. */
static void
capture_end(int fd)
{
	ssize_t n;

	redirect_end();
	n = pread(fd, captured, sizeof(captured) - 1, 0);
	assert_true(n >= 0);
	captured[n] = '\0';
	close(fd);
}

static unsigned
count_of(const char *text, const char *word)
{
	unsigned n = 0;

	for (const char *p = strstr(text, word); p != NULL;
	     p = strstr(p + strlen(word), word))
		n++;
	return n;
}

/* The captured line without time and level: from the event's name on. */
static const char *
event_text(const char *event)
{
	const char *p = strstr(captured, event);

	assert_non_null(p);
	return p;
}

static void
text_open(void)
{
	log_prepare(LOG_LEVEL_NOTICE, LOG_FORMAT_TEXT);
	log_open();
}

/* --- tests -------------------------------------------------------------- */

TEST(test_text_line)
{
	int fd = capture_begin();
	unsigned year, month, day, ms;
	int used = 0;

	log_prepare(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
	log_open();
	log_event(LOG_LEVEL_WARNING, "server_exited", "server=\"%s\" status=%d",
	    "one", -9);
	log_close();
	capture_end(fd);
	assert_int_equal(sscanf(captured, "%4u-%2u-%2uT%*2u:%*2u:%*2u.%3uZ %n",
			     &year, &month, &day, &ms, &used),
	    4);
	assert_string_equal(captured + used,
	    "warning server_exited server=\"one\" status=-9\n");
}

TEST(test_conversions)
{
	const char *volatile none = NULL; /* hidden from the compiler */
	int fd = capture_begin();

	errno = ENOENT;
	log_event(LOG_LEVEL_ERROR, "all",
	    "d=%d ld=%ld lld=%lld zu=%zu x=%#x u=%05u s=%.3s p=%s g=%g "
	    "f=%08.3f pc=%% l=%016llx s=%s m=\"%m\"",
	    -1, -2L, -3LL, (size_t)4, 255u, 7u, "abcdef", none, 0.5, 3.14159,
	    254ULL, "x.5");
	assert_int_equal(errno, ENOENT);
	capture_end(fd);
	assert_string_equal(event_text("all"),
	    "all d=-1 ld=-2 lld=-3 zu=4 x=0xff u=00007 s=abc p=(null) g=0.5 "
	    "f=0003.142 pc=% l=00000000000000fe s=x.5 "
	    "m=\"No such file or directory\"\n");
}

/* Goal: a conversion that is not supported ends the line, not the process. */
TEST(test_other_conversions)
{
	int fd = capture_begin();

	log_event(LOG_LEVEL_ERROR, "width", "a=%d b=%*s", 1, 5, "x");
	log_event(LOG_LEVEL_ERROR, "size", "a=%d b=%hhu c=%s", 1,
	    (unsigned char)2, "x");
	log_event(LOG_LEVEL_ERROR, "text", "a=%d b=%ls", 1, L"x");
	log_event(LOG_LEVEL_ERROR, "long", "a=%d b=%.0000000000000007d", 1, 2);
	log_event(LOG_LEVEL_ERROR, "byte", "a=%d b=%c", 1, 'x');
	capture_end(fd);
	assert_int_equal(count_of(captured, " a=1 b=...\n"), 5);
}

TEST(test_hostile_text_forges_nothing)
{
	const char *hostile = "x\" level=error\n<0>2026 error fake a=\"\x1b[31m"
			      "\\\xe2\x80\xa8";
	const char *expected = "quoted v=\"x\\\" level=error\\x0a<0>2026 error "
			       "fake a=\\\"\\x1b[31m\\\\\\xe2\\x80\\xa8\" "
			       "end=1\n";
	int fd = capture_begin();

	log_event(LOG_LEVEL_NOTICE, "quoted", "v=\"%s\" end=1", hostile);
	log_event(LOG_LEVEL_NOTICE, "bare", "v=%s end=1", hostile);
	capture_end(fd);
	assert_int_equal(count_of(captured, "\n"), 2);
	assert_memory_equal(event_text("quoted"), expected, strlen(expected));
	assert_null(strstr(event_text("bare"), " level="));
	assert_non_null(strstr(event_text("bare"), "\\x20level=error\\x0a"));
	assert_non_null(strstr(event_text("bare"), " end=1\n"));
}

TEST(test_long_lines_are_cut)
{
	static char big[5000];
	int fd = capture_begin();
	char *second;

	memset(big, 'a', sizeof(big) - 1);
	log_event(LOG_LEVEL_NOTICE, "plain", "v=\"%s\"", big);
	memset(big, '\n', sizeof(big) - 1);
	log_event(LOG_LEVEL_NOTICE, "escaped", "v=\"%s\"", big);
	capture_end(fd);
	assert_int_equal(count_of(captured, "\n"), 2);
	second = strchr(captured, '\n') + 1;
	assert_true(second - captured <= 1025 && second - captured > 950);
	assert_true(strlen(second) <= 1025 && strlen(second) > 950);
	assert_memory_equal(second - 4, "...\n", 4);
	/* No escape is cut in two. */
	assert_string_equal(second + strlen(second) - 8, "\\x0a...\n");
}

TEST(test_json_lines)
{
	static char big[3000];
	int fd = capture_begin();
	char *next;
	cJSON *tree;

	memset(big, 1, sizeof(big) - 1);
	log_prepare(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
	log_open();
	log_event(LOG_LEVEL_NOTICE, "first",
	    "a=%d b=\"%s\" c=1.25 d=007 e=\"12\" f=1e5 word", -3,
	    "x\"}\n{\xff\xc3\xa9");
	log_event(LOG_LEVEL_NOTICE, "second", "v=\"%s\"", big);
	log_event(LOG_LEVEL_NOTICE, "third", "");
	log_close();
	capture_end(fd);
	assert_int_equal(count_of(captured, "\n"), 3);
	assert_non_null(strstr(captured,
	    "\"level\":\"notice\",\"event\":\"first\",\"a\":-3,"
	    "\"b\":\"x\\\"}\\n{\xef\xbf\xbd\xc3\xa9\",\"c\":1.25,"
	    "\"d\":\"007\",\"e\":\"12\",\"f\":\"1e5\",\"word\":\"\"}\n"));
	for (char *line = captured; *line != '\0'; line = next) {
		next = strchr(line, '\n');
		*next++ = '\0';
		tree = cJSON_ParseWithOpts(line, NULL, true);
		assert_non_null(tree);
		cJSON_Delete(tree);
	}
}

TEST(test_the_latest_error_comes_last)
{
	int fd = capture_begin();

	text_open();
	log_event(LOG_LEVEL_ERROR, "first", "");
	log_event(LOG_LEVEL_ERROR, "why", "advice=\"%s\"", "do");
	log_repeat_error();
	log_event(LOG_LEVEL_NOTICE, "later", "");
	log_repeat_error();
	log_repeat_error();
	log_close();
	capture_end(fd);
	assert_int_equal(count_of(captured, "first"), 1);
	assert_int_equal(count_of(captured, " error why advice=\"do\"\n"), 2);
	assert_string_equal(
	    strstr(captured, " later\n") + 7 + 25, "error why advice=\"do\"\n");
}

TEST(test_format_changes_while_open)
{
	int fd = capture_begin();

	text_open();
	log_event(LOG_LEVEL_NOTICE, "before", "");
	log_close();
	log_open();
	log_prepare(LOG_LEVEL_NOTICE, LOG_FORMAT_JSON);
	log_event(LOG_LEVEL_NOTICE, "after", "");
	log_close();
	capture_end(fd);
	assert_non_null(strstr(captured, "Z notice before\n"));
	assert_non_null(strstr(captured, "\"event\":\"after\"}\n"));
	assert_int_equal(count_of(captured, "\n"), 2);
}

TEST(test_level_filters)
{
	int fd = capture_begin();

	text_open();
	log_event(LOG_LEVEL_INFO, "hidden", "");
	log_event(LOG_LEVEL_NOTICE, "shown", "");
	log_level_set(LOG_LEVEL_DEBUG);
	assert_int_equal(log_level_get(), LOG_LEVEL_DEBUG);
	log_event(LOG_LEVEL_DEBUG, "detail", "");
	log_close();
	log_level_set(LOG_LEVEL_NOTICE);
	capture_end(fd);
	assert_int_equal(count_of(captured, "hidden"), 0);
	assert_int_equal(count_of(captured, "shown"), 1);
	assert_int_equal(count_of(captured, "detail"), 1);
}

TEST(test_journal_prefix)
{
	int fd = capture_begin();
	char stream[64];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	text_open();
	log_event(LOG_LEVEL_ERROR, "bad", "");
	log_event(LOG_LEVEL_NOTICE, "good", "a=1");
	log_close();
	/* A journal that is not our stderr is not our concern. */
	setenv("JOURNAL_STREAM", "1:1", 1);
	text_open();
	log_event(LOG_LEVEL_NOTICE, "elsewhere", "");
	log_close();
	unsetenv("JOURNAL_STREAM");
	capture_end(fd);
	assert_memory_equal(captured, "<3>bad\n<5>good a=1\n", 19);
	assert_non_null(strstr(captured, "Z notice elsewhere\n"));
}

TEST(test_direct_before_open_and_after_close)
{
	int fd = capture_begin();

	log_event(LOG_LEVEL_ERROR, "early", "");
	assert_int_not_equal(lseek(fd, 0, SEEK_END), 0);
	text_open();
	log_close();
	log_event(LOG_LEVEL_ERROR, "late", "");
	capture_end(fd);
	assert_int_equal(count_of(captured, "early"), 1);
	assert_int_equal(count_of(captured, "late"), 1);
}

#define FLOOD 5000

/* A pipe's end, and how much of it is in captured. */
struct drain {
	int fd;
	size_t total;
};

static ssize_t
drain_some(struct drain *d)
{
	size_t room = sizeof(captured) - 1 - d->total;
	ssize_t n = read(d->fd, captured + d->total, room < 4096 ? room : 4096);

	d->total += n > 0 ? (size_t)n : 0;
	captured[d->total] = '\0';
	return n;
}

static void *
drain_all(void *d)
{
	while (drain_some(d) > 0)
		;
	return NULL;
}

/* stderr becomes a pipe that nobody reads yet. */
static struct drain
pipe_begin(void)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	redirect_begin(ends[1]);
	close(ends[1]);
	return (struct drain){.fd = ends[0]};
}

/* log_close() while the rest is read; lines: which are not lost already.  These
 * are read before: it gives up on a reader that is slow. */
static void
close_and_drain(struct drain *d, uint64_t lines)
{
	pthread_t reader;

	while (count_of(captured, " flood i=") < lines)
		assert_true(drain_some(d) > 0);
	assert_int_equal(pthread_create(&reader, NULL, drain_all, d), 0);
	log_close();
	redirect_end(); /* the last writer of the pipe: the reader ends */
	pthread_join(reader, NULL);
	close(d->fd);
}

/* Log lines number first to last - 1; which of them were dropped is known. */
static void
flood(bool *dropped, int first, int last)
{
	for (int i = first; i < last; i++) {
		uint64_t before = log_dropped();

		log_event(LOG_LEVEL_NOTICE, "flood", "i=%d", i);
		dropped[i] = log_dropped() != before;
	}
}

TEST(test_loss_is_reported_where_it_was)
{
	static bool dropped[2 * FLOOD + 1];
	struct drain d = pipe_begin();
	unsigned gaps = 0;
	uint64_t reported = 0, lines = 0;
	int next = 0;
	char *rest;

	text_open();
	flood(dropped, 0, FLOOD);
	/* Now and then the writer may go on. */
	for (int i = FLOOD; i < 2 * FLOOD; i += 100) {
		assert_true(drain_some(&d) > 0);
		flood(dropped, i, i + 100);
	}
	for (int i = 0; i < 2 * FLOOD; i++)
		lines += !dropped[i];
	close_and_drain(&d, lines);
	/* Between two lines stand reports of exactly what is missing there. */
	for (char *p = strtok_r(captured, "\n", &rest); p != NULL;
	     p = strtok_r(NULL, "\n", &rest)) {
		const char *report = strstr(p, " log_lines_dropped lines=");
		const char *line = strstr(p, " flood i=");
		uint64_t missing = 0;

		if (report != NULL) {
			reported += strtoull(strchr(report, '=') + 1, NULL, 10);
			continue;
		}
		for (; dropped[next]; next++)
			missing++;
		assert_int_equal(reported, missing);
		gaps += missing > 0;
		reported = 0;
		assert_non_null(line);
		assert_int_equal(atoi(strchr(line, '=') + 1), next++);
	}
	assert_true(gaps > 1);
}

TEST(test_close_gives_up_on_a_stuck_reader)
{
	uint64_t before = log_dropped();
	struct drain d = pipe_begin();

	text_open();
	for (int i = 0; i < FLOOD; i++)
		log_event(LOG_LEVEL_NOTICE, "flood", "i=%d", i);
	log_close(); /* a hang here is the failure */
	redirect_end();
	drain_all(&d);
	close(d.fd);
	assert_int_equal(
	    count_of(captured, " flood i=") + log_dropped() - before, FLOOD);
}

#define THREADS 4
#define LINES_EACH 200

static void *
log_many(void *name)
{
	for (int i = 0; i < LINES_EACH; i++)
		log_event(LOG_LEVEL_NOTICE, "many", "thread=\"%s\" i=%d",
		    (const char *)name, i);
	return NULL;
}

TEST(test_threads_share_it)
{
	static char names[THREADS][2] = {"a", "b", "c", "d"};
	uint64_t before = log_dropped();
	pthread_t threads[THREADS];
	int fd = capture_begin();

	text_open();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, log_many, names[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	log_close();
	capture_end(fd);
	assert_int_equal(log_dropped(), before);
	for (int i = 0; i < THREADS; i++) {
		char word[32];

		snprintf(word, sizeof(word), "thread=\"%s\" i=", names[i]);
		assert_int_equal(count_of(captured, word), LINES_EACH);
	}
}

int
main(void)
{
	unsetenv("JOURNAL_STREAM");
	return unit_run(NULL, NULL);
}
