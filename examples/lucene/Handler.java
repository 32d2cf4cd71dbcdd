import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.queryparser.classic.ParseException;
import org.apache.lucene.search.BooleanQuery;

/**
 * Answers requests; one handler belongs to one worker.
 *
 *   GET  /search?q=QUERY[&n=10][&from=0]  hits, as JSON; also by POST
 *   GET  /history                         what this session searched for
 *   GET  /health                          {"status":"ok"}
 *   POST /visit?key=KEY                   count one more, tell how many
 *   GET  /visits?key=KEY                  tell how many
 *
 * A session is named by the header X-Session; users without one are told
 * apart by what they ask for.  Every answer says who gave it (X-Server) and
 * how long it took from the coordinator to here (Server-Timing).
 */
final class Handler {
	private static final int HITS = 10;
	private static final int HITS_MAX = 100;
	private static final int RELATED = 5;
	private static final int QUERY_MAX_CHARS = 256;

	/** A request that is at fault, with the status that says so. */
	private static final class Refusal extends Exception {
		private static final long serialVersionUID = 1;
		final int status;

		Refusal(int status, String why) {
			super(why, null, false, false);
			this.status = status;
		}
	}

	private final Engine engine;
	private final Memory memory;
	private final Visits visits;
	private final String name;

	Handler(Engine engine, Memory memory, Visits visits, String name) {
		this.engine = engine;
		this.memory = memory;
		this.visits = visits;
		this.name = name;
	}

	/** What is to be sent. */
	record Answer(int status, byte[] body) {}

	/** Does the work of a request; always has an answer. */
	Answer work(HttpExchange x) {
		try {
			return new Answer(200, route(x));
		} catch (Refusal e) {
			return new Answer(e.status, error(e.getMessage()));
		} catch (IOException | RuntimeException e) {
			System.err.println("search: " + x.getRequestURI()
			    + ": " + e);
			return new Answer(500, error("internal error"));
		}
	}

	/** Sends the answer to a request and ends the exchange. */
	void send(HttpService.Task task, Answer answer) {
		HttpExchange x = task.exchange();
		long us = (System.nanoTime() - task.receivedNs()) / 1000;
		x.getResponseHeaders().set(
		    "Server-Timing", "app;dur=" + milliseconds(us));
		x.getResponseHeaders().set("X-Server", name);
		send(x, answer.status(), answer.body());
	}

	/** The coordinator's answer when the queue is full. */
	static void refuse(HttpExchange x) {
		x.getResponseHeaders().set("Retry-After", "1");
		send(x, 503, error("too many requests are waiting"));
	}

	private byte[] route(HttpExchange x) throws IOException, Refusal {
		Map<String, String> p = parameters(x.getRequestURI()
		    .getRawQuery());
		switch (x.getRequestURI().getPath()) {
		case "/search":
			allow(x, "GET", "HEAD", "POST");
			return search(session(x, p.get("q")), p);
		case "/history":
			allow(x, "GET", "HEAD");
			return history(session(x, ""));
		case "/health":
			allow(x, "GET", "HEAD");
			return new Json().open('{').key("status").value("ok")
			    .close('}').bytes();
		case "/visit":
			allow(x, "POST");
			return visit(required(p, "key"));
		case "/visits":
			allow(x, "GET", "HEAD");
			return count(required(p, "key"),
			    visits.get(p.get("key")));
		default:
			throw new Refusal(404, "no such path");
		}
	}

	private byte[] search(String session, Map<String, String> p)
	    throws IOException, Refusal {
		String q = required(p, "q");
		int n = number(p, "n", HITS, 1, HITS_MAX);
		int from = number(p, "from", 0, 0, HITS_MAX);
		Engine.Result r =
		    memory.recall(session, q, from + n, from > 0);
		if (r == null) {
			r = find(q, from + n);
			memory.remember(session, r);
		}
		List<Engine.Hit> hits = r.hits();
		Json out = new Json().open('{').key("query").value(q)
		    .key("total").value(r.total()).key("hits").open('[');
		for (int i = from; i < Math.min(from + n, hits.size()); i++) {
			Engine.Hit h = hits.get(i);
			out.open('{').key("id").value(h.id())
			    .key("lemma").value(h.lemma())
			    .key("gloss").value(h.gloss())
			    .key("score").value(h.score()).close('}');
		}
		out.close(']').key("related").open('[');
		for (String word : Engine.related(r, RELATED))
			out.value(word);
		return out.close(']').close('}').bytes();
	}

	private Engine.Result find(String q, int n)
	    throws IOException, Refusal {
		if (q.length() > QUERY_MAX_CHARS)
			throw new Refusal(400, "q is too long");
		try {
			return engine.search(q, n);
		} catch (ParseException e) {
			throw new Refusal(400, "q is not a query");
		} catch (BooleanQuery.TooManyClauses e) {
			throw new Refusal(400, "q matches too many words");
		}
	}

	private byte[] history(String session) {
		Json out = new Json().open('{').key("history").open('[');
		for (Engine.Result r : memory.history(session))
			out.open('{').key("query").value(r.query())
			    .key("total").value(r.total()).close('}');
		return out.close(']').close('}').bytes();
	}

	private byte[] visit(String key) throws Refusal {
		long count = visits.add(key);
		if (count < 0)
			throw new Refusal(507, "too many keys");
		return count(key, count);
	}

	private static byte[] count(String key, long count) {
		return new Json().open('{').key("key").value(key)
		    .key("visits").value(count).close('}').bytes();
	}

	private static byte[] error(String why) {
		return new Json().open('{').key("error").value(why)
		    .close('}').bytes();
	}

	private static String session(HttpExchange x, String otherwise) {
		String named = x.getRequestHeaders().getFirst("X-Session");
		return named != null ? "user " + named : "query " + otherwise;
	}

	private static void allow(HttpExchange x, String... methods)
	    throws Refusal {
		if (List.of(methods).contains(x.getRequestMethod()))
			return;
		x.getResponseHeaders().set("Allow", String.join(", ", methods));
		throw new Refusal(405, "method not allowed");
	}

	private static String required(Map<String, String> p, String key)
	    throws Refusal {
		String value = p.get(key);
		if (value == null || value.isBlank())
			throw new Refusal(400, key + " is missing");
		return value;
	}

	private static int number(Map<String, String> p, String key,
	    int otherwise, int low, int high) throws Refusal {
		String text = p.get(key);
		if (text == null)
			return otherwise;
		try {
			int n = Integer.parseInt(text);
			if (n >= low && n <= high)
				return n;
		} catch (NumberFormatException e) {
			/* said below */
		}
		throw new Refusal(
		    400, key + " is not in " + low + ".." + high);
	}

	private static Map<String, String> parameters(String raw)
	    throws Refusal {
		Map<String, String> found = new HashMap<>();
		if (raw == null)
			return found;
		try {
			for (String pair : raw.split("&")) {
				int equals = pair.indexOf('=');
				if (equals > 0)
					found.put(decode(pair.substring(
						      0, equals)),
					    decode(pair.substring(
						equals + 1)));
			}
		} catch (IllegalArgumentException e) {
			throw new Refusal(400, "bad escape in the target");
		}
		return found;
	}

	private static String decode(String text) {
		return URLDecoder.decode(text, StandardCharsets.UTF_8);
	}

	private static String milliseconds(long us) {
		String fraction = Long.toString(1000 + us % 1000).substring(1);
		return us / 1000 + "." + fraction;
	}

	/* An error here is the client's going away: nothing to tell anyone. */
	private static void send(HttpExchange x, int status, byte[] body) {
		boolean head = x.getRequestMethod().equals("HEAD");
		x.getResponseHeaders().set("Content-Type", "application/json");
		try {
			if (head)
				x.getResponseHeaders().set("Content-Length",
				    Integer.toString(body.length));
			x.sendResponseHeaders(status, head ? -1 : body.length);
			try (OutputStream out = x.getResponseBody()) {
				if (!head)
					out.write(body);
			}
		} catch (IOException | RuntimeException e) {
			x.close();
		}
	}
}
