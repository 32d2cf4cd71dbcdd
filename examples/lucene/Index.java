import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.Version;

/**
 * The index on disk: one document a synset, in one segment, opened through
 * mmap.  Built once: into a temporary directory that is renamed when it is
 * complete, so a reader never meets half an index, under a file lock, so two
 * servers started together do not both build it.  The commit carries a
 * version; an index of another version is replaced.
 */
final class Index {
	/** Raise when fields or analysis change. */
	private static final int FORMAT = 1;
	private static final String KEY = "tailor.lucene.version";

	private Index() {}

	static Analyzer analyzer() {
		return new EnglishAnalyzer();
	}

	static String version() {
		return FORMAT + "/" + Version.LATEST;
	}

	/** Opens the index in directory, which must have been built. */
	static DirectoryReader open(Path directory) throws IOException {
		return DirectoryReader.open(new MMapDirectory(directory));
	}

	/**
	 * Builds the index of wordnet in directory unless it is there already.
	 * Returns whether it had to be built.
	 */
	static boolean ensure(Path directory, Path wordnet) throws IOException {
		Path target = directory.toAbsolutePath();
		Files.createDirectories(target.getParent());
		Path lock = sibling(target, ".lock");
		try (FileChannel channel = FileChannel.open(lock,
			 StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
			channel.lock(); /* until the channel is closed */
			if (current(target))
				return false;
			Path fresh = sibling(target, ".new");
			delete(fresh);
			build(fresh, wordnet);
			replace(target, fresh);
			return true;
		}
	}

	private static boolean current(Path directory) {
		if (!Files.isDirectory(directory))
			return false;
		try (DirectoryReader reader = open(directory)) {
			return version().equals(
			    reader.getIndexCommit().getUserData().get(KEY));
		} catch (IOException | IllegalArgumentException e) {
			return false; /* not an index, or of another Lucene */
		}
	}

	private static void build(Path directory, Path wordnet)
	    throws IOException {
		IndexWriterConfig config = new IndexWriterConfig(analyzer());
		config.setOpenMode(IndexWriterConfig.OpenMode.CREATE);
		config.setRAMBufferSizeMB(64);
		try (MMapDirectory files = new MMapDirectory(directory);
		    IndexWriter writer = new IndexWriter(files, config)) {
			WordNet.read(wordnet, synset -> add(writer, synset));
			writer.forceMerge(1);
			writer.setLiveCommitData(
			    Map.of(KEY, version()).entrySet());
			writer.commit();
		}
	}

	private static void add(IndexWriter writer, WordNet.Synset synset) {
		Document d = new Document();
		d.add(new StringField("id", synset.id(), Field.Store.YES));
		d.add(new StringField("pos", synset.pos(), Field.Store.YES));
		d.add(new TextField("lemma", synset.lemmas(), Field.Store.YES));
		d.add(new TextField("gloss", synset.gloss(), Field.Store.YES));
		try {
			writer.addDocument(d);
		} catch (IOException e) {
			throw new java.io.UncheckedIOException(e);
		}
	}

	private static void replace(Path target, Path fresh)
	    throws IOException {
		Path old = sibling(target, ".old");
		delete(old);
		if (Files.exists(target))
			Files.move(target, old);
		Files.move(fresh, target);
		delete(old);
	}

	private static Path sibling(Path path, String suffix) {
		return path.resolveSibling(path.getFileName() + suffix);
	}

	private static void delete(Path root) throws IOException {
		if (!Files.exists(root))
			return;
		try (Stream<Path> all = Files.walk(root)) {
			for (Path p : (Iterable<Path>) all.sorted(
				 Comparator.reverseOrder())::iterator)
				Files.delete(p);
		}
	}
}
