// A JVM's hazards on request.
//
//	java HazardServer PORT
//
//	/			nothing at all
//	/compute?us=N		N us of computing, in CPU time
//	/classes?n=N		loads and initialises N classes never seen before
//
// and, meant to be asked for past Tailor while another request computes:
//
//	/prime			allocates until eden is nearly full
//	/young			and until a young collection has been
//	/full			one System.gc()
//	/dump			all threads' stacks: a safepoint, no collection
//
// After each answer one line of JSON goes to standard output, as server.c
// writes it.  How long a safepoint took is said by the JVM itself, with
// -Xlog:safepoint.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadMXBean;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;

public final class HazardServer {
	private static final int SLEEPERS = 150;
	private static final int DEPTH = 200;
	private static final int LIVE_OBJECTS = 600_000;
	private static final long EDEN_LEFT = 2 << 20;
	private static final int YOUNG_LIVE_OBJECTS = 600_000;
	private static final long YOUNG_LIVE_BYTES = YOUNG_LIVE_OBJECTS * 68L;

	private static final String TEMPLATE = "HazardServer$Template";

	private static final ThreadMXBean threads =
	    ManagementFactory.getThreadMXBean();
	private static final List<byte[]> live = new ArrayList<>();
	private static byte[] template; // the bytes of class Template
	private static volatile Object sink, garbage;

	private HazardServer() {
	}

	/** A class worth loading; defined again and again by new loaders. */
	public static final class Template {
		static final String[] TABLE = new String[64];

		static {
			for (int i = 0; i < TABLE.length; i++)
				TABLE[i] = "entry " + i;
		}

		private Template() {
		}

		static String entry(int i) {
			return TABLE[i & 63];
		}
	}

	private static final class Loader extends ClassLoader {
		@Override
		protected Class<?> loadClass(String name, boolean resolve)
		    throws ClassNotFoundException {
			return name.equals(TEMPLATE)
			    ? defineClass(name, template, 0, template.length)
			    : super.loadClass(name, resolve);
		}
	}

	/** What an injection did, and when. */
	private interface Injection {
		void inject(long number) throws Exception;
	}

	private static void compute(long microseconds) {
		long end = threads.getCurrentThreadCpuTime()
		    + microseconds * 1000;
		long x = 1;
		while (threads.getCurrentThreadCpuTime() < end)
			for (int i = 0; i < 1000; i++)
				x = x * 6364136223846793005L + 1;
		sink = x;
	}

	private static void classes(long n) throws Exception {
		for (long i = 0; i < n; i++)
			Class.forName(TEMPLATE, true, new Loader());
	}

	private static long collections() {
		long count = 0;
		for (GarbageCollectorMXBean bean :
		    ManagementFactory.getGarbageCollectorMXBeans())
			count += bean.getCollectionCount();
		return count;
	}

	private static MemoryPoolMXBean eden() {
		for (MemoryPoolMXBean pool :
		    ManagementFactory.getMemoryPoolMXBeans())
			if (pool.getName().contains("Eden"))
				return pool;
		throw new IllegalStateException("a heap without an eden");
	}

	private static boolean nearlyFull(MemoryPoolMXBean eden, long left) {
		MemoryUsage usage = eden.getUsage();
		return usage.getUsed() > usage.getCommitted() - left;
	}

	/** Garbage until little more than the survivors fits, then these. */
	private static List<byte[]> fill(MemoryPoolMXBean eden, long left) {
		List<byte[]> survivors = new ArrayList<>(YOUNG_LIVE_OBJECTS);
		while (!nearlyFull(eden, left + YOUNG_LIVE_BYTES))
			for (int i = 0; i < 100; i++)
				garbage = new byte[1024];
		for (int i = 0; i < YOUNG_LIVE_OBJECTS; i++)
			survivors.add(new byte[48]);
		return survivors;
	}

	/** So that the next collection comes soon and has something to copy. */
	private static void prime(long unused) {
		MemoryPoolMXBean eden = eden();
		long before, left = EDEN_LEFT;
		do {
			before = collections();
			sink = null;
			sink = fill(eden, left);
			left += EDEN_LEFT;
		} while (collections() != before);
	}

	private static void young(long unused) {
		long before = collections();
		while (collections() == before)
			for (int i = 0; i < 100; i++)
				garbage = new byte[1024];
	}

	private static void full(long unused) {
		System.gc();
	}

	private static void dump(long unused) {
		sink = threads.dumpAllThreads(true, true);
	}

	private static void sleeper(int depth, CountDownLatch ready) {
		if (depth > 0) {
			sleeper(depth - 1, ready);
			return;
		}
		ready.countDown();
		try {
			new CountDownLatch(1).await();
		} catch (InterruptedException e) {
			Thread.currentThread().interrupt();
		}
	}

	private static long number(HttpExchange exchange) {
		String query = exchange.getRequestURI().getQuery();
		return query == null ? 0
		    : Long.parseLong(query.substring(query.indexOf('=') + 1));
	}

	private static void handle(HttpExchange exchange, Injection injection)
	    throws IOException {
		long begin = System.nanoTime();
		long ran = threads.getCurrentThreadCpuTime();
		int status = 200;
		try {
			injection.inject(number(exchange));
		} catch (Exception e) {
			status = 500;
			e.printStackTrace();
		}
		ran = threads.getCurrentThreadCpuTime() - ran;
		long end = System.nanoTime();
		exchange.getRequestBody().readAllBytes();
		byte[] body = "done\n".getBytes();
		exchange.sendResponseHeaders(status, body.length);
		exchange.getResponseBody().write(body);
		exchange.close();
		String id = exchange.getRequestHeaders()
		    .getFirst("Tailor-Request");
		System.out.println("{\"request\":\"" + (id == null ? "" : id)
		    + "\",\"begin\":" + begin + ",\"end\":" + System.nanoTime()
		    + ",\"harm\":[" + begin + "," + end
		    + "],\"off_cpu\":" + (end - begin - ran) + ",\"faults\":0}");
	}

	private static void on(
	    HttpServer server, String path, Injection injection) {
		server.createContext(
		    path, exchange -> handle(exchange, injection));
	}

	private static void prepare() throws Exception {
		try (InputStream in = HazardServer.class.getResourceAsStream(
		    TEMPLATE + ".class")) {
			template = in.readAllBytes();
		}
		for (int i = 0; i < LIVE_OBJECTS; i++)
			live.add(new byte[48]);
		CountDownLatch ready = new CountDownLatch(SLEEPERS);
		for (int i = 0; i < SLEEPERS; i++) {
			Thread t = new Thread(() -> sleeper(DEPTH, ready));
			t.setDaemon(true);
			t.start();
		}
		ready.await();
		compute(1000);
	}

	public static void main(String[] arguments) throws Exception {
		prepare();
		HttpServer server = HttpServer.create(
		    new InetSocketAddress(
			"127.0.0.1", Integer.parseInt(arguments[0])), 128);
		server.setExecutor(Executors.newFixedThreadPool(4));
		on(server, "/", n -> { });
		on(server, "/compute", HazardServer::compute);
		on(server, "/classes", HazardServer::classes);
		on(server, "/prime", HazardServer::prime);
		on(server, "/young", HazardServer::young);
		on(server, "/full", HazardServer::full);
		on(server, "/dump", HazardServer::dump);
		server.start();
		System.err.println("server: listening");
	}
}
