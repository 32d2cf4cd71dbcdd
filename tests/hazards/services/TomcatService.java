import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat 10 with 16 threads: TomcatService PORT FOLDER. */
public final class TomcatService extends HttpServlet {
	private static final long serialVersionUID = 1;

	@Override
	protected void service(HttpServletRequest request,
	    HttpServletResponse response) throws IOException {
		Kinds.Response r = Kinds.work(
		    request.getParameterMap(), request.getInputStream());
		response.setHeader("Truth", r.truth);
		if (r.events == 0)
			response.setContentLength(r.body.length);
		r.write(response.getOutputStream());
	}

	public static void main(String[] args) throws Exception {
		Tomcat tomcat = new Tomcat();
		tomcat.setBaseDir(args[1]);
		tomcat.setPort(Integer.parseInt(args[0]));
		tomcat.getConnector().setProperty("address", "127.0.0.1");
		tomcat.getConnector().setProperty("maxThreads", "16");
		Context context = tomcat.addContext("", args[1]);
		Tomcat.addServlet(context, "work", new TomcatService())
		    .addMapping("/work");
		tomcat.start();
		tomcat.getServer().await();
	}
}
