import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Reads WordNet's database files (format of wndb(5WN)): one line a synset,
 *
 *   offset lex_filenum ss_type w_cnt word lex_id [word lex_id ...] ... | gloss
 *
 * w_cnt is hexadecimal; words carry underscores for spaces and, if they are
 * adjectives, perhaps a syntactic marker in parentheses.  The licence at the
 * top of each file is indented, which is how it is told from data.  Relations
 * between synsets are not read.
 */
final class WordNet {
	private static final String[] PARTS = {"noun", "verb", "adj", "adv"};

	/** One set of synonyms: id is its type and offset, "n02084071". */
	record Synset(String id, String pos, String lemmas, String gloss) {}

	private WordNet() {}

	/** Hands over every synset below directory, always in the same order. */
	static void read(Path directory, Consumer<Synset> sink)
	    throws IOException {
		for (String pos : PARTS) {
			Path file = directory.resolve("data." + pos);
			try (BufferedReader in = Files.newBufferedReader(
				 file, StandardCharsets.ISO_8859_1)) {
				readFile(in, file, pos, sink);
			}
		}
	}

	private static void readFile(BufferedReader in, Path file, String pos,
	    Consumer<Synset> sink) throws IOException {
		int number = 0;
		for (String line; (line = in.readLine()) != null;) {
			number++;
			if (line.startsWith(" "))
				continue;
			try {
				sink.accept(parse(line, pos));
			} catch (RuntimeException e) {
				throw new IOException(file + ":" + number
				    + ": not a line of WordNet data", e);
			}
		}
	}

	static Synset parse(String line, String pos) {
		int bar = line.indexOf('|');
		String gloss = line.substring(bar + 1).strip();
		String[] field = line.substring(0, bar).split(" ");
		int words = Integer.parseInt(field[3], 16);
		StringBuilder lemmas = new StringBuilder();
		for (int i = 0; i < words; i++) {
			if (i > 0)
				lemmas.append(", ");
			lemmas.append(word(field[4 + 2 * i]));
		}
		return new Synset(
		    field[2] + field[0], pos, lemmas.toString(), gloss);
	}

	private static String word(String raw) {
		int marker = raw.indexOf('(');
		String word = marker < 0 ? raw : raw.substring(0, marker);
		return word.replace('_', ' ');
	}
}
