/** Events as TaleChain events, into a channel of the thread's own. */
final class TaleEvents implements Events {
	private final TaleChain channel;

	TaleEvents(String name) {
		channel = TaleChain.open(name);
	}

	@Override
	public void receive(long request, int queueLength, long task) {
		channel.emit(
		    TaleChain.APP_RECEIVE, request, queueLength, task, 0);
	}

	@Override
	public void start(long request, int queueLength, long task) {
		channel.emit(
		    TaleChain.APP_START, request, queueLength, task, 0);
	}

	@Override
	public void finish(long request, int queueLength, long task) {
		channel.emit(
		    TaleChain.APP_FINISH, request, queueLength, task, 0);
	}
}
