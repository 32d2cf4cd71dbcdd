// A tiny HTTP server for tests: its collections happen on command.
//	/			200, the process id
//	/gc			one System.gc(), then 200
//	/fill?mb=N		keep N more MiB alive (makes collections longer)
//	/forget			keep nothing of that
//	/garbage?kb=N		allocate N KiB that nothing keeps
//	/keep?kb=N		allocate N KiB, and keep a quarter of it until
//				700 more requests have done so
//	/large?kb=N		allocate one array of N KiB that nothing keeps
//	/wait?ms=N		answer after N ms
//	/compute?ms=N		the same, but computing
//	/events?ms=N		an event each N ms, until the client is gone
//	POST /count		count one
//	/counted		how many have been counted
//	/helper?gc=N		N times System.gc() in a JVM that it has started,
//				with the same options; 200, the other's process id

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

public final class Server {
	private static final List<byte[][]> kept = new ArrayList<>();
	private static final AtomicLong counted = new AtomicLong();

	private Server() {
	}

	private static int number(HttpExchange exchange) {
		String query = exchange.getRequestURI().getQuery();
		return Integer.parseInt(query.substring(query.indexOf('=') + 1));
	}

	private static void answer(HttpExchange exchange) throws IOException {
		answer(exchange, ProcessHandle.current().pid());
	}

	private static void answer(HttpExchange exchange, long number)
	    throws IOException {
		byte[] body = (number + "\n").getBytes();
		exchange.getRequestBody().readAllBytes();
		exchange.sendResponseHeaders(200, body.length);
		exchange.getResponseBody().write(body);
		exchange.close();
	}

	/** Many small objects: what a collector has to walk. */
	private static synchronized void fill(int megabytes) {
		for (int i = 0; i < megabytes; i++) {
			byte[][] chunk = new byte[8192][];
			for (int k = 0; k < chunk.length; k++)
				chunk[k] = new byte[112];
			kept.add(chunk);
		}
	}

	private static synchronized void forget() {
		kept.clear();
	}

	/** In pieces that are never humongous. */
	private static volatile byte[] latest;

	private static void garbage(int kilobytes) {
		for (int i = 0; i < kilobytes; i += 16)
			latest = new byte[16 << 10];
	}

	private static final Object[] latestKept = new Object[700];
	private static final AtomicLong keeps = new AtomicLong();

	private static void keep(int kilobytes) {
		byte[][] some = new byte[kilobytes / 4][];

		for (int i = 0; i < some.length; i++)
			some[i] = new byte[1000];
		garbage(kilobytes - some.length);
		latestKept[(int)(keeps.getAndIncrement()
		    % latestKept.length)] = some;
	}

	private static void events(HttpExchange exchange, int milliseconds)
	    throws IOException {
		exchange.getResponseHeaders().set("Content-Type",
		    "text/event-stream");
		exchange.sendResponseHeaders(200, 0);
		for (long i = 0;; i++) {
			exchange.getResponseBody().write(
			    ("data: " + i + "\n\n").getBytes());
			exchange.getResponseBody().flush();
			pause(milliseconds);
		}
	}

	/** For each byte it collects, and sends one back. */
	private static Process helper;

	private static synchronized long help(int times) throws IOException {
		List<String> command = new ArrayList<>();

		if (helper == null) {
			command.add(System.getProperty("java.home")
			    + "/bin/java");
			command.addAll(ManagementFactory.getRuntimeMXBean()
			    .getInputArguments());
			command.add("-cp");
			command.add(System.getProperty("java.class.path"));
			command.add("Server");
			helper = new ProcessBuilder(command).redirectError(
			    ProcessBuilder.Redirect.INHERIT).start();
		}
		for (int i = 0; i < times; i++) {
			helper.getOutputStream().write(1);
			helper.getOutputStream().flush();
			if (helper.getInputStream().read() < 0)
				throw new IOException("the helper has ended");
		}
		return helper.pid();
	}

	private static void helper() throws IOException {
		while (System.in.read() >= 0) {
			System.gc();
			System.out.write(1);
			System.out.flush();
		}
	}

	private static long computed;

	private static void compute(int milliseconds) {
		long end = System.nanoTime() + milliseconds * 1000000L;

		while (System.nanoTime() < end)
			computed += spin(computed);
	}

	private static long spin(long value) {
		for (int i = 0; i < 100000; i++)
			value = value * 31 + i;
		return value;
	}

	private static void pause(int milliseconds) {
		try {
			Thread.sleep(milliseconds);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	public static void main(String[] arguments) throws IOException {
		if (arguments.length == 0) {
			helper();
			return;
		}
		int port = Integer.parseInt(arguments[0]);
		HttpServer server = HttpServer.create(
		    new InetSocketAddress("127.0.0.1", port), 128);
		AtomicLong threads = new AtomicLong();
		server.setExecutor(Executors.newFixedThreadPool(16, work ->
		    new Thread(work, "http-nio-8080-exec-of-the-tests-"
			+ threads.incrementAndGet())));
		server.createContext("/", Server::answer);
		server.createContext("/gc", exchange -> {
			System.gc();
			answer(exchange);
		});
		server.createContext("/helper", exchange ->
		    answer(exchange, help(number(exchange))));
		server.createContext("/fill", exchange -> {
			fill(number(exchange));
			answer(exchange);
		});
		server.createContext("/forget", exchange -> {
			forget();
			answer(exchange);
		});
		server.createContext("/garbage", exchange -> {
			garbage(number(exchange));
			answer(exchange);
		});
		server.createContext("/keep", exchange -> {
			keep(number(exchange));
			answer(exchange);
		});
		server.createContext("/large", exchange -> {
			latest = new byte[number(exchange) << 10];
			answer(exchange);
		});
		server.createContext("/events", exchange ->
		    events(exchange, number(exchange)));
		server.createContext("/wait", exchange -> {
			pause(number(exchange));
			answer(exchange);
		});
		server.createContext("/compute", exchange -> {
			compute(number(exchange));
			answer(exchange);
		});
		server.createContext("/count", exchange ->
		    answer(exchange, counted.incrementAndGet()));
		server.createContext("/counted", exchange ->
		    answer(exchange, counted.get()));
		server.start();
	}
}
