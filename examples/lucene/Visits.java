import java.util.concurrent.ConcurrentHashMap;

/**
 * Counters by key: the service's one operation that must not be done twice
 * for one request, so that a test can see whether it was.
 */
final class Visits {
	private static final int KEYS_MAX = 10_000;

	private final ConcurrentHashMap<String, Long> counts =
	    new ConcurrentHashMap<>();

	/** Adds one and returns the new count, or -1 if there is no room. */
	long add(String key) {
		if (counts.size() >= KEYS_MAX && !counts.containsKey(key))
			return -1;
		return counts.merge(key, 1L, Long::sum);
	}

	long get(String key) {
		return counts.getOrDefault(key, 0L);
	}
}
