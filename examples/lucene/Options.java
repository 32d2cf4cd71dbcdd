import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The command line.  Each field is an option of the same name. */
final class Options {
	static final String USAGE = """
	    usage: SearchService [options]              serve until killed
	           SearchService [options] --build      build the index, exit
	           SearchService --help

	      --index DIR         the index, built if absent
	                          [build/lucene-index]
	      --wordnet DIR       data.noun ... [/usr/share/wordnet]

	    serving
	      --listen HOST:PORT  port 0: any, printed [127.0.0.1:8081]
	      --name NAME         in X-Server and event channels [search]
	      --workers N         threads that search [CPUs + 1]
	      --queue N           requests waiting at most [1024]
	      --window N          hits kept of each result [10]
	      --answers N         recent answers kept [256]
	      --answers-ms T      ... for so long [1000]
	      --sessions N        users remembered [2000]
	      --history N         results remembered of each [8]
	      --talechain         tell Tailor about each request
	    """;

	Path index = Path.of("build/lucene-index");
	Path wordnet = Path.of("/usr/share/wordnet");
	boolean help;
	boolean build;
	InetSocketAddress listen = new InetSocketAddress("127.0.0.1", 8081);
	String name = "search";
	int workers = Runtime.getRuntime().availableProcessors() + 1;
	int queue = 1024;
	int window = 10;
	int answers = 256;
	int answersMs = 1000;
	int sessions = 2000;
	int history = 8;
	boolean talechain;

	/** Throws IllegalArgumentException with a sentence for the user. */
	static Options parse(String[] args) {
		Options o = new Options();
		Deque<String> rest = new ArrayDeque<>(List.of(args));
		while (!rest.isEmpty())
			o.take(rest.removeFirst(), rest);
		return o;
	}

	private void take(String option, Deque<String> rest) {
		switch (option) {
		case "--index" -> index = Path.of(text(option, rest));
		case "--wordnet" -> wordnet = Path.of(text(option, rest));
		case "--help" -> help = true;
		case "--build" -> build = true;
		case "--listen" -> listen = address(text(option, rest));
		case "--name" -> name = text(option, rest);
		case "--workers" -> workers = number(option, rest, 1);
		case "--queue" -> queue = number(option, rest, 1);
		case "--window" -> window = number(option, rest, 1);
		case "--answers" -> answers = number(option, rest, 0);
		case "--answers-ms" -> answersMs = number(option, rest, 0);
		case "--sessions" -> sessions = number(option, rest, 0);
		case "--history" -> history = number(option, rest, 1);
		case "--talechain" -> talechain = true;
		default -> throw new IllegalArgumentException(
		    "unknown option " + option);
		}
	}

	private static String text(String option, Deque<String> rest) {
		if (rest.isEmpty())
			throw new IllegalArgumentException(
			    option + " wants a value");
		return rest.removeFirst();
	}

	private static int number(
	    String option, Deque<String> rest, int smallest) {
		String value = text(option, rest);
		try {
			int n = Integer.parseInt(value);
			if (n >= smallest)
				return n;
		} catch (NumberFormatException e) {
			/* said below */
		}
		throw new IllegalArgumentException(option
		    + " wants a number >= " + smallest + ", not " + value);
	}

	private static InetSocketAddress address(String value) {
		int colon = value.lastIndexOf(':');
		try {
			return new InetSocketAddress(value.substring(0, colon),
			    Integer.parseInt(value.substring(colon + 1)));
		} catch (RuntimeException e) {
			throw new IllegalArgumentException(
			    "--listen wants HOST:PORT, not " + value);
		}
	}
}
