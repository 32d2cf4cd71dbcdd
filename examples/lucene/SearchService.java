import java.io.IOException;
import org.apache.lucene.index.DirectoryReader;

/**
 * A search service over WordNet: the kind of server Tailor is for, and the
 * one its demonstration and experiments use.  An ordinary service: it knows
 * nothing of Tailor unless it is asked to send events (--talechain).
 *
 * One coordinator thread takes requests from connections, N workers search
 * and answer (see HttpService).  README.md describes the knobs.
 */
public final class SearchService {
	private SearchService() {}

	public static void main(String[] args) {
		Options options;
		try {
			options = Options.parse(args);
		} catch (IllegalArgumentException e) {
			System.err.println("search: " + e.getMessage());
			System.err.print(Options.USAGE);
			System.exit(2);
			return;
		}
		try {
			run(options);
		} catch (IOException e) {
			System.err.println("search: " + sentence(e));
			System.exit(1);
		}
	}

	private static void run(Options options) throws IOException {
		if (options.help) {
			System.out.print(Options.USAGE);
			return;
		}
		boolean built = Index.ensure(options.index, options.wordnet);
		System.err.println("search: index " + options.index
		    + (built ? " built" : " reused"));
		if (options.build)
			return;
		DirectoryReader reader = Index.open(options.index);
		HttpService service = new HttpService(reader, options);
		Runtime.getRuntime().addShutdownHook(
		    new Thread(service::stop, "stop"));
		service.start();
		System.err.println("search: " + options.name + " listening on "
		    + service.address());
	}

	private static String sentence(IOException e) {
		if (e instanceof java.nio.file.NoSuchFileException)
			return e.getMessage() + " does not exist; WordNet's "
			    + "files are in Debian's package wordnet-base";
		return e.toString();
	}
}
