/**
 * What the service tells about a request's way through it.  The service does
 * nothing of the kind unless it is asked to: then TaleEvents, which is built
 * only together with TaleChain, is found by name.
 *
 * One object belongs to one thread.
 */
interface Events {
	/** The coordinator took the request from its connection. */
	void receive(long request, int queueLength, long task);

	/** A worker took it from the queue. */
	void start(long request, int queueLength, long task);

	/** The worker has the answer and is about to send it. */
	void finish(long request, int queueLength, long task);

	Events NONE = new Events() {
		@Override
		public void receive(long request, int queueLength, long task) {}

		@Override
		public void start(long request, int queueLength, long task) {}

		@Override
		public void finish(long request, int queueLength, long task) {}
	};

	static boolean available() {
		try {
			Class.forName("TaleEvents");
			Class.forName("TaleChain");
			return true;
		} catch (ClassNotFoundException e) {
			return false;
		}
	}

	/** A channel called name for the calling thread, or NONE. */
	static Events open(boolean enabled, String name) {
		if (!enabled)
			return NONE;
		try {
			return (Events) Class.forName("TaleEvents")
			    .getDeclaredConstructor(String.class)
			    .newInstance(name);
		} catch (ReflectiveOperationException e) {
			System.err.println("search: no TaleChain events: " + e);
			return NONE;
		}
	}
}
