/* agent.c: the JVMTI agent: callbacks of the JVM.
 *
 *	java -agentpath:/usr/lib/tailor/libtailor-jvm.so[=socket=PATH] ...
 *	jcmd PID JVMTI.agent_load /usr/lib/tailor/libtailor-jvm.so [/PATH]
 *
 * If it is loaded again, it leaves its socket for the one named then.
 *
 * Reports collections (begin, end, cause), the JVM's start and end, and how
 * many classes are prepared and methods compiled.  Not safepoints: JVMTI has
 * no event for them, but the JVM's performance page shows them.
 *
 * Names of threads that the kernel cuts: agent_names.c.
 *
 * Cost: about 200 ns per collection, an atomic addition per compiled method,
 * three and a store per class, 2 us per thread, and one thread that sleeps. */
#include "profiler/jvm/agent.h"

#include <jvmti.h>

struct agent agent;

static bool loaded;
static char *socket_path; /* owned; NULL: the default */

/* Emit the begin or end of a collection.  The VM thread. */
static void
emit_collection(struct talechain *tc, uint64_t now_ns, enum talechain_type type,
    uint64_t cause, uint64_t latency_ns)
{
	if (agent.vm_tid == 0)
		agent.vm_tid = (uint32_t)syscall(SYS_gettid);
	agent_emit(tc, agent.vm_tid, now_ns, type,
	    (const uint64_t[4]){cause, agent.collections, latency_ns, 0});
}

static uint64_t
collection_cause(bool ended)
{
	enum talechain_cause cause = agent_page_cause(ended);

	return agent.ordered && (cause == TALECHAIN_CAUSE_UNKNOWN ||
				    cause == TALECHAIN_CAUSE_ALLOCATION ||
				    cause == TALECHAIN_CAUSE_EXPLICIT)
		   ? TALECHAIN_CAUSE_ORDERED
		   : cause;
}

static void JNICALL
on_gc_start(jvmtiEnv *env)
{
	uint64_t now_ns = talechain_now();
	uint64_t cause;
	struct talechain *tc;

	(void)env;
	agent.ordered = agent_collecting();
	cause = collection_cause(false);
	__atomic_fetch_add(&agent.collections, 1, __ATOMIC_RELAXED);
	agent.begun_ns = now_ns;
	agent_state_set(TALECHAIN_JVM_GC, now_ns, cause);
	tc = agent_enter();
	if (tc != NULL) {
		agent_state_show(tc);
		emit_collection(tc, now_ns, TALECHAIN_JVM_GC_BEGIN, cause, 0);
	}
	agent_leave();
}

static void JNICALL
on_gc_finish(jvmtiEnv *env)
{
	uint64_t now_ns = talechain_now();
	uint64_t cause = collection_cause(true);
	uint64_t latency_ns = agent.begun_ns != 0 ? now_ns - agent.begun_ns : 0;
	struct talechain *tc;

	(void)env;
	agent_state_set(TALECHAIN_JVM_RUNNING, now_ns, cause);
	tc = agent_enter();
	if (tc != NULL) {
		agent_state_show(tc);
		emit_collection(
		    tc, now_ns, TALECHAIN_JVM_GC_END, cause, latency_ns);
	}
	agent_leave();
}

static void JNICALL
on_class_prepare(jvmtiEnv *env, JNIEnv *jni, jthread thread, jclass class)
{
	struct talechain *tc;

	(void)env, (void)jni, (void)thread, (void)class;
	__atomic_fetch_add(&agent.classes, 1, __ATOMIC_RELAXED);
	/* Store the count at once, because a timeline shows when it grows. */
	tc = agent_enter();
	if (tc != NULL)
		talechain_word_set(tc, TALECHAIN_WORD_CLASSES,
		    __atomic_load_n(&agent.classes, __ATOMIC_RELAXED));
	agent_leave();
}

static void JNICALL
on_compiled(jvmtiEnv *env, jmethodID method, jint bytes, const void *code,
    jint maps, const jvmtiAddrLocationMap *map, const void *info)
{
	(void)env, (void)method, (void)bytes, (void)code;
	(void)maps, (void)map, (void)info;
	__atomic_fetch_add(&agent.compiled, 1, __ATOMIC_RELAXED);
}

/* The thread that starts calls this. */
static void JNICALL
on_thread_start(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	jvmtiThreadInfo info;

	memset(&info, 0, sizeof(info));
	if ((*env)->GetThreadInfo(env, thread, &info) == JVMTI_ERROR_NONE &&
	    info.name != NULL)
		agent_name_set((uint32_t)syscall(SYS_gettid), info.name);
	(*env)->Deallocate(env, (unsigned char *)info.name);
	if (info.thread_group != NULL)
		(*jni)->DeleteLocalRef(jni, info.thread_group);
	if (info.context_class_loader != NULL)
		(*jni)->DeleteLocalRef(jni, info.context_class_loader);
}

static void JNICALL
on_thread_end(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	(void)env, (void)jni, (void)thread;
	agent_name_clear((uint32_t)syscall(SYS_gettid));
}

static void
agent_begin(uint64_t started_ns)
{
	int err;

	agent_page_open();
	agent_state_set(TALECHAIN_JVM_RUNNING, talechain_now(), 0);
	agent_heap_start();
	err = agent_link_start(socket_path, started_ns);
	if (err < 0)
		fprintf(
		    stderr, "libtailor-jvm: no thread: %s\n", strerror(-err));
}

static void JNICALL
on_vm_init(jvmtiEnv *env, JNIEnv *jni, jthread thread)
{
	(void)env, (void)jni, (void)thread;
	agent_begin(talechain_now());
}

static void JNICALL
on_vm_death(jvmtiEnv *env, JNIEnv *jni)
{
	struct talechain *tc;

	(void)env, (void)jni;
	agent_state_set(TALECHAIN_JVM_DEAD, talechain_now(), 0);
	tc = agent_enter();
	if (tc != NULL)
		agent_state_show(tc);
	agent_leave();
}

/* Take the socket's path from the options.  False: an option is unknown. */
static bool
agent_options(const char *options)
{
	const char *path = NULL;

	if (options != NULL && strncmp(options, "socket=", 7) == 0) {
		path = options + 7;
	} else if (options != NULL && *options == '/') {
		path = options; /* jcmd splits at a "=" */
	} else if (options != NULL && *options != '\0') {
		fprintf(stderr,
		    "libtailor-jvm: unknown option '%s', expected "
		    "socket=PATH\n",
		    options);
		return false;
	}
	free(socket_path);
	socket_path = path != NULL ? strdup(path) : NULL;
	return true;
}

/* Request what this JVM can do; collections are required. */
static bool
agent_capabilities(jvmtiEnv *env)
{
	jvmtiCapabilities can, want;

	memset(&can, 0, sizeof(can));
	memset(&want, 0, sizeof(want));
	if ((*env)->GetPotentialCapabilities(env, &can) != JVMTI_ERROR_NONE)
		return false;
	want.can_generate_garbage_collection_events = 1;
	want.can_generate_compiled_method_load_events =
	    can.can_generate_compiled_method_load_events;
	return (*env)->AddCapabilities(env, &want) == JVMTI_ERROR_NONE;
}

static bool
agent_events(jvmtiEnv *env)
{
	static const struct {
		jvmtiEvent event;
		bool must;
	} wanted[] = {
	    {JVMTI_EVENT_VM_INIT, true},
	    {JVMTI_EVENT_VM_DEATH, true},
	    {JVMTI_EVENT_GARBAGE_COLLECTION_START, true},
	    {JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, true},
	    {JVMTI_EVENT_CLASS_PREPARE, false},
	    {JVMTI_EVENT_COMPILED_METHOD_LOAD, false},
	    {JVMTI_EVENT_THREAD_START, false},
	    {JVMTI_EVENT_THREAD_END, false},
	};
	jvmtiEventCallbacks on;

	memset(&on, 0, sizeof(on));
	on.VMInit = on_vm_init;
	on.VMDeath = on_vm_death;
	on.GarbageCollectionStart = on_gc_start;
	on.GarbageCollectionFinish = on_gc_finish;
	on.ClassPrepare = on_class_prepare;
	on.CompiledMethodLoad = on_compiled;
	on.ThreadStart = on_thread_start;
	on.ThreadEnd = on_thread_end;
	if ((*env)->SetEventCallbacks(env, &on, (jint)sizeof(on)) !=
	    JVMTI_ERROR_NONE)
		return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if ((*env)->SetEventNotificationMode(env, JVMTI_ENABLE,
			wanted[i].event, NULL) != JVMTI_ERROR_NONE &&
		    wanted[i].must)
			return false;
	return true;
}

static jint
agent_load(JavaVM *vm, const char *options, bool attached)
{
	jvmtiEnv *env;
	void *handle;

	if (!agent_options(options))
		return JNI_ERR;
	if (loaded) {
		agent_link_move(socket_path);
		return JNI_OK;
	}
	if ((*vm)->GetEnv(vm, &handle, JVMTI_VERSION_1_2) != JNI_OK) {
		fprintf(stderr, "libtailor-jvm: this JVM has no JVMTI\n");
		return JNI_ERR;
	}
	env = handle;
	if (!agent_capabilities(env) || !agent_events(env)) {
		fprintf(stderr,
		    "libtailor-jvm: this JVM does not report collections\n");
		return JNI_ERR;
	}
	loaded = true;
	agent.vm = vm;
	agent_collect_init(vm, env);
	/* With -agentpath the JVM is not running yet: wait for VMInit. */
	if (attached)
		agent_begin(0);
	return JNI_OK;
}

JNIEXPORT jint JNICALL
Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	return agent_load(vm, options, false);
}

JNIEXPORT jint JNICALL
Agent_OnAttach(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	return agent_load(vm, options, true);
}

JNIEXPORT void JNICALL
Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	agent_link_stop();
	agent_page_close();
	free(socket_path);
	socket_path = NULL;
}
