import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;

/** The JDK's own HTTP server: JdkService PORT. */
public final class JdkService {
	private JdkService() {
	}

	private static void handle(HttpExchange exchange) throws IOException {
		Map<String, String[]> query = new HashMap<>();
		String text = exchange.getRequestURI().getQuery();
		if (text != null)
			for (String part : text.split("&")) {
				String[] pair = part.split("=");
				query.put(pair[0], new String[] {pair[1]});
			}
		Kinds.Response r = Kinds.work(query, exchange.getRequestBody());
		exchange.getResponseHeaders().set("Truth", r.truth);
		exchange.sendResponseHeaders(200, r.events > 0 ? 0
		    : r.body.length > 0 ? r.body.length : -1);
		r.write(exchange.getResponseBody());
		exchange.close();
	}

	public static void main(String[] args) throws IOException {
		HttpServer server = HttpServer.create(new InetSocketAddress(
		    "127.0.0.1", Integer.parseInt(args[0])), 128);
		server.setExecutor(Executors.newCachedThreadPool());
		server.createContext("/", JdkService::handle);
		server.start();
	}
}
