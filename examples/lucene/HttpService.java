import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ArrayBlockingQueue;
import org.apache.lucene.index.IndexReader;

/**
 * The JDK's HTTP server, arranged as one coordinator and N workers.
 *
 *   connections -> coordinator -> bounded queue -> worker: search, answer
 *
 * The coordinator is the HttpServer's own dispatcher thread: without an
 * executor it reads and parses requests itself and calls the handler, which
 * only puts the exchange into the queue.  A worker finishes it.  A full queue
 * is answered at once with 503.
 *
 * The coordinator reads a request's head with blocking calls, so a client that
 * sends half a head holds up all others (for ever, unless the JDK is told
 * -Dsun.net.httpserver.maxReqTime).  Fit for a trusted network or behind a
 * proxy that sends whole requests, as Tailor does; not for the Internet.
 */
final class HttpService {
	/** One request on its way; task counts them in this server. */
	record Task(HttpExchange exchange, long receivedNs, long request,
	    long task) {}

	private static final int BACKLOG = 1024;
	private static final int STOP_SECONDS = 1;

	private final HttpServer server;
	private final ArrayBlockingQueue<Task> queue;
	private final Thread[] workers;
	private final Options options;

	/* the coordinator's own */
	private Events events;
	private long tasks;

	HttpService(IndexReader reader, Options options) throws IOException {
		this.options = options;
		if (options.talechain && !Events.available())
			System.err.println("search: --talechain without "
			    + "TaleChain on the class path: no events");
		queue = new ArrayBlockingQueue<>(options.queue);
		Memory memory = new Memory(options.answers,
		    options.answersMs * 1_000_000L, options.sessions,
		    options.history);
		Visits visits = new Visits();
		workers = new Thread[options.workers];
		for (int i = 0; i < workers.length; i++) {
			Handler handler = new Handler(
			    new Engine(reader, options.window), memory, visits,
			    options.name);
			String name = options.name + "-worker-" + i;
			workers[i] =
			    new Thread(() -> work(handler, name), name);
			workers[i].setDaemon(true);
		}
		try {
			server = HttpServer.create(options.listen, BACKLOG);
		} catch (java.net.BindException e) {
			throw new IOException(
			    options.listen + ": " + e.getMessage(), e);
		}
		server.createContext("/", this::coordinate);
	}

	void start() {
		for (Thread t : workers)
			t.start();
		server.start();
	}

	/** Takes no more requests and lets those begun finish, for a second. */
	void stop() {
		server.stop(STOP_SECONDS);
	}

	String address() {
		InetSocketAddress a = server.getAddress();
		return a.getAddress().getHostAddress() + ":" + a.getPort();
	}

	private void coordinate(HttpExchange exchange) throws IOException {
		long now = System.nanoTime();
		if (events == null)
			events = Events.open(options.talechain,
			    options.name + "-coordinator");
		Task t = new Task(exchange, now,
		    requestId(exchange.getRequestHeaders().getFirst(
			"Tailor-Request")),
		    ++tasks);
		events.receive(t.request(), queue.size(), t.task());
		if (!queue.offer(t))
			Handler.refuse(exchange);
	}

	private void work(Handler handler, String name) {
		Events own = Events.open(options.talechain, name);
		for (;;) {
			Task t;
			try {
				t = queue.take();
			} catch (InterruptedException e) {
				return;
			}
			own.start(t.request(), queue.size(), t.task());
			Handler.Answer answer = handler.work(t.exchange());
			own.finish(t.request(), queue.size(), t.task());
			handler.send(t, answer);
		}
	}

	/** Tailor's request id, in hexadecimal digits; 0 if it is none. */
	static long requestId(String header) {
		if (header == null || header.length() > 16)
			return 0;
		long id = 0;
		for (int i = 0; i < header.length(); i++) {
			int digit = Character.digit(header.charAt(i), 16);
			if (digit < 0)
				return 0;
			id = id << 4 | digit;
		}
		return id;
	}
}
