import java.io.IOException;
import java.net.InetSocketAddress;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.AbstractHandler;

/** Jetty 9 at its defaults: JettyService PORT. */
public final class JettyService extends AbstractHandler {
	@Override
	public void handle(String target, Request base,
	    HttpServletRequest request, HttpServletResponse response)
	    throws IOException {
		base.setHandled(true);
		Kinds.Response r = Kinds.work(
		    request.getParameterMap(), request.getInputStream());
		response.setHeader("Truth", r.truth);
		if (r.events == 0)
			response.setContentLength(r.body.length);
		r.write(response.getOutputStream());
	}

	public static void main(String[] args) throws Exception {
		Server server = new Server(new InetSocketAddress(
		    "127.0.0.1", Integer.parseInt(args[0])));
		server.setHandler(new JettyService());
		server.start();
		server.join();
	}
}
