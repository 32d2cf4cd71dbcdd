// The JDK's own HTTP server, as plain as its manual has it.
//	PauseServer NAME PORT BACKLOG THREADS LOG
// BACKLOG 0 is the JDK's default (50), THREADS 0 a pool without a limit.  What
// the paths mean is in upstream.py.  From the first line on standard input on no
// handler returns.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.zip.CRC32;

public final class PauseServer {
	private final String name;
	private final FileOutputStream log;
	private volatile boolean hanging;

	private PauseServer(String name, String log) throws IOException {
		this.name = name;
		this.log = new FileOutputStream(log, true);
	}

	private static int number(String query, String key, int fallback) {
		if (query != null)
			for (String part : query.split("&"))
				if (part.startsWith(key + "="))
					return Integer.parseInt(
					    part.substring(key.length() + 1));
		return fallback;
	}

	private void handle(HttpExchange exchange) throws IOException {
		try {
			answer(exchange);
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		} finally {
			exchange.close();
		}
	}

	private void answer(HttpExchange exchange)
	    throws IOException, InterruptedException {
		byte[] body = exchange.getRequestBody().readAllBytes();
		String method = exchange.getRequestMethod();
		String[] path = exchange.getRequestURI().getPath().split("/");
		String query = exchange.getRequestURI().getRawQuery();
		String copy = exchange.getRequestHeaders().getFirst(
		    "Tailor-Warmup");

		log.write((method + " " + path[2] + " "
		    + (copy == null ? "-" : copy) + "\n").getBytes(
		    StandardCharsets.ISO_8859_1));
		Thread.sleep(number(query, "d", 0));
		while (hanging)
			Thread.sleep(1000);
		exchange.getResponseHeaders().set("X-Server", name);
		if (path[1].equals("s")) {
			stream(exchange, path[2], Integer.parseInt(path[3]),
			    number(query, "i", 100));
			return;
		}
		CRC32 crc = new CRC32();
		crc.update(body);
		byte[] first = String.format("%s %s %d %08x\n", path[2], method,
		    body.length, crc.getValue()).getBytes(
		    StandardCharsets.ISO_8859_1);
		int size = Math.max(first.length, Integer.parseInt(path[3]));
		byte[] response = Arrays.copyOf(first, size);
		Arrays.fill(response, first.length, size, (byte)'x');
		exchange.sendResponseHeaders(number(query, "s", 200),
		    method.equals("HEAD") ? -1 : size);
		if (!method.equals("HEAD"))
			exchange.getResponseBody().write(response);
	}

	private void stream(HttpExchange exchange, String id, int events,
	    int period) throws IOException, InterruptedException {
		exchange.getResponseHeaders().set("Content-Type",
		    "text/event-stream");
		exchange.sendResponseHeaders(200, 0);
		OutputStream out = exchange.getResponseBody();
		for (int i = 0; i < events; i++) {
			out.write(("data: " + id + " " + i + "\n\n").getBytes(
			    StandardCharsets.ISO_8859_1));
			out.flush();
			Thread.sleep(period);
		}
	}

	public static void main(String[] arguments) throws IOException {
		PauseServer self = new PauseServer(arguments[0], arguments[4]);
		int threads = Integer.parseInt(arguments[3]);
		HttpServer server = HttpServer.create(
		    new InetSocketAddress("127.0.0.1",
			Integer.parseInt(arguments[1])),
		    Integer.parseInt(arguments[2]));

		server.setExecutor(threads == 0
		    ? Executors.newCachedThreadPool()
		    : Executors.newFixedThreadPool(threads));
		server.createContext("/", self::handle);
		server.start();
		self.hanging = System.in.read() >= 0;
	}
}
