import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.lucene.document.Document;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.queryparser.classic.MultiFieldQueryParser;
import org.apache.lucene.queryparser.classic.ParseException;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollector;

/**
 * Runs queries against the index.  One engine belongs to one thread (a query
 * parser has state); all of them share one reader.
 *
 * A search counts all its hits and materialises a window of the best ones,
 * of which the answer shows the first n: what a page with "1,234 results" and
 * a next-page link needs.
 */
final class Engine {
	/** One hit, as kept in sessions and written in answers. */
	record Hit(String id, String lemma, String gloss, float score) {}

	/** The outcome of one query, and how often its hits use which word. */
	record Result(String query, int total, List<Hit> hits,
	    Map<String, Integer> words) {}

	/** Words of an answer's glosses that say nothing about it. */
	private static final Set<String> COMMON = Set.of("a", "an", "and",
	    "as", "at", "be", "by", "for", "from", "has", "have", "in", "is",
	    "it", "its", "of", "on", "one", "or", "something", "that", "the",
	    "their", "they", "to", "used", "was", "were", "which", "who",
	    "with");

	private final IndexSearcher searcher;
	private final QueryParser parser;
	private final int window;

	Engine(IndexReader reader, int window) {
		this.window = window;
		searcher = new IndexSearcher(reader);
		/* the same work for the same query, however often it came */
		searcher.setQueryCache(null);
		parser = new MultiFieldQueryParser(
		    new String[] {"lemma", "gloss"}, Index.analyzer(),
		    Map.of("lemma", 3f, "gloss", 1f));
	}

	/** Throws ParseException for a query that is not one. */
	Result search(String text, int n) throws IOException, ParseException {
		Query query = parser.parse(text);
		TopScoreDocCollector best = TopScoreDocCollector.create(
		    Math.max(n, window), Integer.MAX_VALUE);
		searcher.search(query, best);
		TopDocs top = best.topDocs();
		List<Hit> hits = new ArrayList<>(top.scoreDocs.length);
		for (ScoreDoc found : top.scoreDocs)
			hits.add(hit(found));
		return new Result(
		    text, (int) top.totalHits.value, hits, words(hits));
	}

	/** The words most used by the hits, leaving out the query's own. */
	static List<String> related(Result result, int count) {
		String asked = result.query().toLowerCase(Locale.ROOT);
		return result.words()
		    .entrySet()
		    .stream()
		    .filter(e -> !asked.contains(e.getKey()))
		    .sorted(Map.Entry.<String, Integer>comparingByValue()
			    .reversed()
			    .thenComparing(Map.Entry.comparingByKey()))
		    .limit(count)
		    .map(Map.Entry::getKey)
		    .toList();
	}

	private static Map<String, Integer> words(List<Hit> hits) {
		Map<String, Integer> counts = new HashMap<>();
		for (Hit h : hits)
			count(h.gloss(), counts);
		return counts;
	}

	private static void count(String text, Map<String, Integer> counts) {
		int from = 0;
		for (int i = 0; i <= text.length(); i++) {
			if (i < text.length()
			    && Character.isLetter(text.charAt(i)))
				continue;
			if (i - from > 1) {
				String word = text.substring(from, i)
						  .toLowerCase(Locale.ROOT);
				if (!COMMON.contains(word))
					counts.merge(word, 1, Integer::sum);
			}
			from = i + 1;
		}
	}

	private Hit hit(ScoreDoc found) throws IOException {
		Document d = searcher.doc(found.doc);
		return new Hit(
		    d.get("id"), d.get("lemma"), d.get("gloss"), found.score);
	}
}
