import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the service remembers between requests, all of it bounded: recent
 * answers, so that the same query asked again at once is not searched again,
 * and sessions, each with its latest results, so that a user can page through
 * them and see a history.
 *
 * This is what a garbage collector dislikes about such a service: results
 * that are neither short-lived nor permanent.  They outlive a collection or
 * two, which copies them, and die afterwards.
 *
 * Shared by all workers; every method is a short critical section.
 */
final class Memory {
	/** A map that forgets its least recently used entry. */
	private static final class Lru<K, V> extends LinkedHashMap<K, V> {
		private static final long serialVersionUID = 1;
		private final int capacity;

		Lru(int capacity) {
			super(16, 0.75f, true);
			this.capacity = capacity;
		}

		@Override
		protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
			return size() > capacity;
		}
	}

	private record Answer(Engine.Result result, long sinceNs) {}

	private final Map<String, Answer> answers;
	private final Map<String, ArrayDeque<Engine.Result>> sessions;
	private final long timeToLiveNs;
	private final int history;

	/**
	 * answers: results kept, for timeToLiveNs each; sessions: users kept,
	 * with the latest history results each.
	 */
	Memory(int answers, long timeToLiveNs, int sessions, int history) {
		this.answers = new Lru<>(answers);
		this.timeToLiveNs = timeToLiveNs;
		this.sessions = new Lru<>(sessions);
		this.history = history;
	}

	/**
	 * A result with the best n hits, or all there are: from the recent
	 * answers, or, for a later page, from what this session was shown
	 * however long ago.  Null if it has to be searched.
	 */
	synchronized Engine.Result recall(
	    String session, String query, int n, boolean laterPage) {
		Answer a = answers.get(query);
		if (a != null && System.nanoTime() - a.sinceNs() < timeToLiveNs
		    && reaches(a.result(), n))
			return a.result();
		if (!laterPage)
			return null;
		for (Engine.Result r : history(session)) {
			if (r.query().equals(query) && reaches(r, n))
				return r;
		}
		return null;
	}

	private static boolean reaches(Engine.Result r, int n) {
		return r.hits().size() >= Math.min(n, r.total());
	}

	synchronized void remember(String session, Engine.Result result) {
		answers.put(
		    result.query(), new Answer(result, System.nanoTime()));
		ArrayDeque<Engine.Result> latest = sessions.computeIfAbsent(
		    session, key -> new ArrayDeque<>());
		if (latest.size() >= history)
			latest.removeFirst();
		latest.addLast(result);
	}

	/** The latest results of a session, oldest first. */
	synchronized List<Engine.Result> history(String session) {
		ArrayDeque<Engine.Result> latest = sessions.get(session);
		return latest == null ? List.of() : new ArrayList<>(latest);
	}
}
