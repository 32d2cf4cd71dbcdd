/* agent_collect.c: have this JVM collect, now.
 *
 * JVMTI can only force full collections.  A thread of our own therefore fills
 * what is left of eden with arrays, until one collection has been counted.
 * The arrays are garbage at once: the collection copies none of them.  The
 * thread is made by the first order, and shows as "tailor-collect" in thread
 * dumps.
 *
 * The old generation is collected by System.gc(), which
 * -XX:+ExplicitGCInvokesConcurrent makes concurrent with G1; where
 * -XX:+DisableExplicitGC makes that do nothing, by JVMTI.
 *
 * Cost: 75 us a MiB, and the collection. */
#include "profiler/jvm/agent.h"

#include <jvmti.h>
#include <pthread.h>
#include <sys/eventfd.h>

/* Far below half of G1's smallest region: such an array is never humongous. */
#define ARRAY_BYTES (65536 - 32)

static struct {
	JavaVM *vm;
	jvmtiEnv *env;
	int wake;	/* owned eventfd */
	bool made;	/* there is a thread */
	uint64_t bytes; /* atomic: what it may allocate; 0: nothing to do */
} collect;

static void
collect_fill(JNIEnv *jni, uint64_t before)
{
	uint64_t bytes = 0;
	jbyteArray array;

	while (
	    __atomic_load_n(&agent.collections, __ATOMIC_RELAXED) == before &&
	    bytes < __atomic_load_n(&collect.bytes, __ATOMIC_RELAXED)) {
		array = (*jni)->NewByteArray(jni, ARRAY_BYTES);
		if (array == NULL) {
			(*jni)->ExceptionClear(jni);
			return;
		}
		(*jni)->DeleteLocalRef(jni, array);
		bytes += ARRAY_BYTES;
	}
}

static void
collect_full(JNIEnv *jni, uint64_t before)
{
	jclass class = (*jni)->FindClass(jni, "java/lang/System");
	jmethodID gc = class == NULL
			   ? NULL
			   : (*jni)->GetStaticMethodID(jni, class, "gc", "()V");

	if (gc != NULL)
		(*jni)->CallStaticVoidMethod(jni, class, gc);
	(*jni)->ExceptionClear(jni);
	if (class != NULL)
		(*jni)->DeleteLocalRef(jni, class);
	if (__atomic_load_n(&agent.collections, __ATOMIC_RELAXED) == before)
		(*collect.env)->ForceGarbageCollection(collect.env);
}

static void *
collect_run(void *arg)
{
	JavaVMAttachArgs name = {
	    .version = JNI_VERSION_1_6, .name = (char *)arg};
	uint64_t count, before;
	void *jni;
	ssize_t n;

	if ((*collect.vm)
		->AttachCurrentThreadAsDaemon(collect.vm, &jni, &name) !=
	    JNI_OK)
		return NULL;
	for (;;) {
		n = read(collect.wake, &count, sizeof(count));
		if (n < 0 && errno != EINTR)
			return NULL;
		before = __atomic_load_n(&agent.collections, __ATOMIC_RELAXED);
		if (__atomic_load_n(&collect.bytes, __ATOMIC_RELAXED) ==
		    AGENT_COLLECT_FULL)
			collect_full(jni, before);
		else
			collect_fill(jni, before);
		if (__atomic_exchange_n(&collect.bytes, 0, __ATOMIC_RELAXED) !=
		    0)
			__atomic_fetch_add(&agent.orders, 1, __ATOMIC_RELAXED);
	}
}

void
agent_collect_init(void *vm, void *env)
{
	collect.vm = vm;
	collect.env = env;
	/* 1: orders are understood, none was carried out. */
	__atomic_store_n(&agent.orders, 1, __ATOMIC_RELAXED);
}

bool
agent_collecting(void)
{
	return __atomic_load_n(&collect.bytes, __ATOMIC_RELAXED) != 0;
}

void
agent_collect(uint64_t bytes)
{
	static char name[] = "tailor-collect";
	pthread_t thread;

	__atomic_store_n(&collect.bytes, bytes, __ATOMIC_RELAXED);
	if (bytes == 0)
		return;
	if (!collect.made) {
		collect.wake = eventfd(0, EFD_CLOEXEC);
		if (collect.wake < 0)
			return;
		collect.made =
		    pthread_create(&thread, NULL, collect_run, name) == 0;
		if (!collect.made) {
			close(collect.wake);
			return;
		}
		pthread_detach(thread);
	}
	if (eventfd_write(collect.wake, 1) < 0)
		__atomic_store_n(&collect.bytes, 0, __ATOMIC_RELAXED);
}
