import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;

/** See soak.py: Service.java tomcat|jdk PORT FOLDER. */
public final class Service extends HttpServlet {
	private static final long serialVersionUID = 1;
	private static final int GARBAGE = 2000;
	private static final byte[][] KEPT = new byte[512][];

	private final Path folder;

	private Service(String folder) {
		this.folder = Path.of(folder);
	}

	/** Some of it lives for a while, so that collections have work. */
	private static void litter() {
		for (int i = 0; i < GARBAGE; i++)
			KEPT[i % KEPT.length] = new byte[1024];
	}

	private byte[] file(String path) throws IOException {
		litter();
		return Files.readAllBytes(folder.resolve(path.substring(1)));
	}

	private static void stream(String query, OutputStream out)
	    throws IOException {
		try {
			for (int i = 0; i < Integer.parseInt(query); i++) {
				out.write(("data: " + i + "\n\n").getBytes());
				out.flush();
				Thread.sleep(100);
			}
		} catch (InterruptedException e) {
			throw new IOException(e);
		}
	}

	@Override
	protected void service(HttpServletRequest request,
	    HttpServletResponse response) throws IOException {
		OutputStream out = response.getOutputStream();
		switch (request.getServletPath()) {
		case "/echo":
			request.getInputStream().transferTo(out);
			break;
		case "/stream":
			response.setContentType("text/event-stream");
			stream(request.getQueryString(), out);
			break;
		default:
			byte[] body = file(request.getServletPath());
			response.setContentLength(body.length);
			out.write(body);
		}
	}

	private void exchange(HttpExchange exchange) throws IOException {
		try (exchange; OutputStream out = exchange.getResponseBody();
		    InputStream in = exchange.getRequestBody()) {
			String path = exchange.getRequestURI().getPath();
			switch (path) {
			case "/echo":
				byte[] posted = in.readAllBytes();
				exchange.sendResponseHeaders(200,
				    posted.length == 0 ? -1 : posted.length);
				out.write(posted);
				break;
			case "/stream":
				exchange.getResponseHeaders().set(
				    "Content-Type", "text/event-stream");
				exchange.sendResponseHeaders(200, 0);
				stream(exchange.getRequestURI().getQuery(), out);
				break;
			default:
				byte[] body = file(path);
				exchange.sendResponseHeaders(200, body.length);
				out.write(body);
			}
		}
	}

	private static void jdk(int port, Service service) throws IOException {
		HttpServer server = HttpServer.create(
		    new InetSocketAddress("127.0.0.1", port), 128);
		server.createContext("/", service::exchange);
		server.setExecutor(Executors.newCachedThreadPool());
		server.start();
	}

	private static void tomcat(int port, Service service) throws Exception {
		Tomcat tomcat = new Tomcat();
		tomcat.setBaseDir(Files.createTempDirectory("soak").toString());
		tomcat.setPort(port);
		tomcat.getConnector().setProperty("address", "127.0.0.1");
		Context context = tomcat.addContext(
		    "", service.folder.toString());
		Wrapper all = Tomcat.addServlet(context, "all", service);
		for (String path : new String[] {"/echo", "/stream", "/"})
			all.addMapping(path);
		tomcat.start();
		tomcat.getServer().await();
	}

	public static void main(String[] args) throws Exception {
		Service service = new Service(args[2]);
		int port = Integer.parseInt(args[1]);
		if (args[0].equals("jdk"))
			jdk(port, service);
		else
			tomcat(port, service);
	}
}
