/* agent_heap.c: report how much of the heap is in use.
 *
 * A JVM's page has that number, but with Serial and Parallel it grows between
 * collections only if the JVM samples the heap, which JDK 25 no longer does.
 * There a thread of our own calls java.lang.Runtime as often as the JVM
 * sampled.  The thread stops in each pause, as all threads do, and is a daemon:
 * the JVM does not wait for it to end.
 *
 * Cost: some microseconds every 50 ms, while there is a Tailor. */
#include "profiler/jvm/agent.h"

#include <jvmti.h>
#include <pthread.h>
#include <signal.h>

#define PERIOD_NS 50000000

static void
heap_report(JNIEnv *jni, jobject runtime, jmethodID total, jmethodID unused)
{
	jlong bytes = (*jni)->CallLongMethod(jni, runtime, total) -
		      (*jni)->CallLongMethod(jni, runtime, unused);
	struct talechain *tc;

	(*jni)->ExceptionClear(jni);
	tc = agent_enter();
	if (tc != NULL && bytes > 0)
		talechain_word_set(tc, TALECHAIN_WORD_HEAP, (uint64_t)bytes);
	agent_leave();
}

static void *
heap_run(void *arg)
{
	JavaVMAttachArgs name = {
	    .version = JNI_VERSION_1_6, .name = (char *)arg};
	struct timespec period = {.tv_nsec = PERIOD_NS};
	jmethodID get, total, unused;
	JavaVM *vm = agent.vm;
	jobject runtime;
	JNIEnv *jni;
	jclass class;
	void *env;

	if ((*vm)->AttachCurrentThreadAsDaemon(vm, &env, &name) != JNI_OK)
		return NULL;
	jni = env;
	class = (*jni)->FindClass(jni, "java/lang/Runtime");
	if (class == NULL)
		return NULL;
	get = (*jni)->GetStaticMethodID(
	    jni, class, "getRuntime", "()Ljava/lang/Runtime;");
	total = (*jni)->GetMethodID(jni, class, "totalMemory", "()J");
	unused = (*jni)->GetMethodID(jni, class, "freeMemory", "()J");
	runtime = (*jni)->CallStaticObjectMethod(jni, class, get);
	while (runtime != NULL) {
		if (__atomic_load_n(&agent.link, __ATOMIC_RELAXED) != NULL)
			heap_report(jni, runtime, total, unused);
		nanosleep(&period, NULL);
	}
	return NULL;
}

void
agent_heap_start(void)
{
	static char name[] = "tailor-heap";
	sigset_t all, old;
	pthread_t thread;

	if (!agent_page_lacks_heap())
		return;
	/* The JVM's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, heap_run, name) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
