import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.queryparser.classic.ParseException;

/**
 * Makes the list of queries that experiments use: candidates from WordNet's
 * own glosses, of the kinds people type, drawn with a seed; those that find
 * nothing, or take longer than the limit on this machine when nothing
 * disturbs them, are left out.  The candidates are the same everywhere, what
 * is left depends a little on the machine: that is why the list is kept.
 *
 * Words are drawn by drawing a synset and a word of its gloss, so frequent
 * words come up as often as in the text.
 */
final class QuerySelector {
	private static final int ROUNDS = 9;
	private static final int WARM_UP_ROUNDS = 3;

	/** Words Lucene's English analysis drops, or its syntax knows. */
	private static final Set<String> SKIP = Set.of("and", "are", "but",
	    "for", "into", "not", "such", "that", "the", "their", "then",
	    "there", "these", "they", "this", "was", "will", "with");

	private final IndexReader reader;
	private final Engine engine;
	private final Options options;
	private final SplittableRandom random;

	private record Timed(String query, long ns) {}

	QuerySelector(IndexReader reader, Options options) {
		this.reader = reader;
		this.options = options;
		engine = new Engine(reader, options.window);
		random = new SplittableRandom(options.seed);
	}

	void run() throws IOException {
		List<String> candidates = candidates();
		for (int i = 0; i < WARM_UP_ROUNDS; i++)
			for (String q : candidates)
				time(q);
		List<Timed> kept = new ArrayList<>();
		for (String q : candidates) {
			long ns = median(q);
			if (ns >= 0 && ns <= options.limitUs * 1000L)
				kept.add(new Timed(q, ns));
			if (kept.size() == options.count)
				break;
		}
		if (kept.size() < options.count)
			throw new IOException("only " + kept.size() + " of "
			    + options.count + " queries found");
		write(kept);
		report(kept);
	}

	/** Twice as many as wanted, without repetition, in a fixed order. */
	private List<String> candidates() throws IOException {
		LinkedHashSet<String> all = new LinkedHashSet<>();
		while (all.size() < 2 * options.count) {
			String q = candidate();
			if (q != null)
				all.add(q);
		}
		return new ArrayList<>(all);
	}

	private String candidate() throws IOException {
		int kind = random.nextInt(100);
		if (kind < 25)
			return word();
		if (kind < 50)
			return word() + " " + word();
		if (kind < 60)
			return word() + " " + word() + " " + word();
		if (kind < 72)
			return word() + " AND " + word();
		if (kind < 80)
			return "+" + word() + " +" + word() + " " + word();
		if (kind < 92)
			return phrase();
		return prefix();
	}

	private String word() throws IOException {
		for (;;) {
			String[] words = words();
			String w = words[random.nextInt(words.length)];
			if (w.length() > 2 && !SKIP.contains(w))
				return w;
		}
	}

	/* Null when the synset drawn has no two neighbours worth quoting. */
	private String phrase() throws IOException {
		String[] words = words();
		int length = 2 + random.nextInt(2);
		if (words.length < length)
			return null;
		int from = random.nextInt(words.length - length + 1);
		for (int i = from; i < from + length; i++)
			if (words[i].length() < 3 || SKIP.contains(words[i]))
				return null;
		return '"'
		    + String.join(
			" ", Arrays.copyOfRange(words, from, from + length))
		    + '"';
	}

	private String prefix() throws IOException {
		String w = word();
		return w.substring(0, Math.min(w.length(), 4)) + "*";
	}

	/* The words of some synset's gloss, at least one. */
	private String[] words() throws IOException {
		for (;;) {
			int document = random.nextInt(reader.maxDoc());
			String[] words =
			    reader.document(document).get("gloss")
				.toLowerCase(java.util.Locale.ROOT)
				.replaceAll("[^a-z]+", " ").strip().split(" ");
			if (!words[0].isEmpty())
				return words;
		}
	}

	/* -1: finds nothing, or is not a query. */
	private long time(String q) throws IOException {
		long begin = System.nanoTime();
		try {
			if (engine.search(q, options.window).total() == 0)
				return -1;
		} catch (ParseException e) {
			return -1;
		}
		return System.nanoTime() - begin;
	}

	private long median(String q) throws IOException {
		long[] ns = new long[ROUNDS];
		for (int i = 0; i < ROUNDS; i++)
			ns[i] = time(q);
		Arrays.sort(ns);
		return ns[ROUNDS / 2];
	}

	private void write(List<Timed> kept) throws IOException {
		StringBuilder text = new StringBuilder();
		for (Timed t : kept)
			text.append(t.query()).append('\n');
		Files.writeString(options.selectQueries, text,
		    StandardCharsets.UTF_8);
	}

	private static void report(List<Timed> kept) {
		long[] ns = kept.stream().mapToLong(Timed::ns).sorted()
				.toArray();
		System.err.printf("search: %d queries, mean %.0f us, "
			+ "median %.0f us, p99 %.0f us, slowest %.0f us%n",
		    ns.length, Arrays.stream(ns).average().orElse(0) / 1e3,
		    ns[ns.length / 2] / 1e3,
		    ns[(int) Math.ceil(ns.length * 0.99) - 1] / 1e3,
		    ns[ns.length - 1] / 1e3);
	}
}
