/* agent_page.c: read the cause of a collection from the JVM's own performance
 * page, because JVMTI does not give it.
 *
 * G1 writes the cause just before the agent is called, Serial and Parallel just
 * after: with them the cause is unknown at the begin of a collection, and right
 * at the end.  A JVM with -XX:+PerfDisableSharedMem has no page: all causes are
 * unknown, everything else works. */
#include "profiler/jvm/agent.h"

#include <fcntl.h>
#include <pwd.h>

#include "profiler/jvm/cause.h"
#include "profiler/jvm/hsperf_format.h"
#include "profiler/jvm/hsperf_owner.h"

static struct {
	const unsigned char *map; /* owned; NULL: none */
	size_t bytes;
	struct hsperf_layout layout;
	bool concurrent;
} own;

/* True if the page's collector is concurrent. */
static bool
page_is_concurrent(void)
{
	const unsigned char *name;
	uint32_t at;

	for (int i = 0; i < HSPERF_COLLECTORS; i++) {
		at = own.layout.offset[HSPERF_OF_COLLECTOR(i, NAME)];
		name = own.map + at;
		if (at != 0 &&
		    own.layout.length[HSPERF_OF_COLLECTOR(i, NAME)] > 10 &&
		    (name[0] == 'Z' || memcmp(name, "Shenandoah", 10) == 0))
			return true;
	}
	return false;
}

static int
page_map(int fd)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    st.st_size < HSPERF_BYTES_MIN || st.st_size > HSPERF_BYTES_MAX)
		return -EPROTO;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	/* Our JVM may add entries meanwhile, but does not move any. */
	if (hsperf_is_own(0, map) <= 0 ||
	    hsperf_parse(&own.layout, map, (size_t)st.st_size) < 0) {
		munmap(map, (size_t)st.st_size);
		return -EPROTO;
	}
	own.bytes = (size_t)st.st_size;
	own.map = map;
	own.concurrent = page_is_concurrent();
	return 0;
}

void
agent_page_open(void)
{
	struct passwd pw, *found = NULL;
	char buffer[2048], path[128];
	int fd;

	if (getpwuid_r(geteuid(), &pw, buffer, sizeof(buffer), &found) != 0 ||
	    found == NULL)
		return;
	snprintf(path, sizeof(path), "/tmp/hsperfdata_%.64s/%d", pw.pw_name,
	    (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	(void)page_map(fd);
	close(fd);
}

void
agent_page_close(void)
{
	void *map;

	if (own.map == NULL)
		return;
	memcpy(&map, &own.map, sizeof(map)); /* munmap wants no const */
	own.map = NULL;
	munmap(map, own.bytes);
}

bool
agent_page_lacks_heap(void)
{
	const char *name;
	uint32_t at = own.layout.offset[HSPERF_COLLECTOR_0_NAME];

	if (own.map == NULL || at == 0 ||
	    own.layout.length[HSPERF_COLLECTOR_0_NAME] <= 8)
		return false;
	name = (const char *)own.map + at;
	return (strncmp(name, "Serial", 6) == 0 ||
		   strncmp(name, "Parallel", 8) == 0) &&
	       hsperf_find(own.map, own.bytes, "sun.os.hrt.ticks") == 0;
}

/* Read a cause from the page.  False: there is no such text, or it is "No
 * GC". */
static bool
page_cause(enum hsperf_counter counter, enum talechain_cause *out)
{
	uint32_t at = own.layout.offset[counter];
	uint32_t n = own.layout.length[counter];
	char text[CAUSE_BYTES] = "";

	if (at == 0)
		return false;
	for (uint32_t i = 0; i < n && i < CAUSE_BYTES - 1; i++)
		text[i] =
		    (char)__atomic_load_n(&own.map[at + i], __ATOMIC_RELAXED);
	if (text[0] == '\0' || cause_is_none(text))
		return false;
	*out = cause_parse(text, own.concurrent);
	return true;
}

enum talechain_cause
agent_page_cause(bool ended)
{
	enum talechain_cause cause;

	if (own.map == NULL)
		return TALECHAIN_CAUSE_UNKNOWN;
	if (page_cause(HSPERF_CAUSE, &cause) ||
	    (ended && page_cause(HSPERF_LAST_CAUSE, &cause)))
		return cause;
	return TALECHAIN_CAUSE_UNKNOWN;
}
