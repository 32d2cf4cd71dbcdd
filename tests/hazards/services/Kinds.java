import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * What a Java service does to a request; see kinds.py.  TomcatService,
 * JettyService and JdkService serve it.  Besides: classes&amp;n=N loads and
 * initialises N classes never seen before; dump asks for all threads' stacks, a
 * safepoint without a collection.  For tests/soak: file&amp;name=NAME, echo, and
 * stream&amp;n=N events.
 */
final class Kinds {
	private static final int PAGE = 4096;
	private static final int BLOCK = 1 << 18;
	private static final int SLEEPERS = 150;
	private static final int EVENT_MS = 100;
	private static final int LITTER = 2000;
	private static final byte[][] KEPT = new byte[512][];
	private static final int DEPTH = 200;
	private static final String TEMPLATE = "Kinds$Template";
	private static final ByteBuffer PIECE =
	    ByteBuffer.allocateDirect(1 << 16);
	private static final String DATA = System.getenv("FOREIGN_DATA");
	private static final ThreadMXBean THREADS =
	    ManagementFactory.getThreadMXBean();
	private static final Object LOCK = new Object();
	/** A connection pool's, fair as HikariCP's is. */
	private static final Semaphore POOL = new Semaphore(1, true);
	private static final ReadWriteLock FILES = new ReentrantReadWriteLock();
	private static final ExecutorService SECOND =
	    Executors.newFixedThreadPool(1, task -> {
		    Thread t = new Thread(task, "second");
		    t.setDaemon(true);
		    return t;
	    });
	private static final String SLOW = "Kinds$Slow";
	private static volatile Class<?> slow;
	private static volatile Object[] heap = new Object[0];
	private static byte sink;
	private static CountDownLatch sleepers;
	/** Begin and end of what faulted; the time of the same when nothing does. */
	private static final ThreadLocal<long[]> TWICE = new ThreadLocal<>();

	private Kinds() {
	}

	interface Kind {
		void act(Map<String, String[]> q) throws Exception;
	}

	/** What a request gets: a body, or so many events. */
	static final class Response {
		String truth;
		byte[] body;
		int events;

		void write(OutputStream out) throws IOException {
			out.write(body);
			for (int i = 0; i < events; i++) {
				out.write(("data: " + i + "\n\n").getBytes());
				out.flush();
				try {
					Thread.sleep(EVENT_MS);
				} catch (InterruptedException e) {
					throw new IOException(e);
				}
			}
		}
	}

	private static final Map<String, Kind> KINDS = Map.ofEntries(
	    Map.entry("none", q -> { }),
	    Map.entry("sleep", q -> Thread.sleep(number(q, "ms"))),
	    Map.entry("backoff", q -> {
		    Thread.sleep(1);
		    Thread.sleep(8);
	    }),
	    Map.entry("compute", Kinds::compute),
	    Map.entry("hold", Kinds::hold), Map.entry("take", Kinds::take),
	    Map.entry("cold", Kinds::cold), Map.entry("mapped", Kinds::mapped),
	    Map.entry("fsync", Kinds::fsync),
	    Map.entry("upstream", Kinds::upstream),
	    Map.entry("udp", Kinds::udp), Map.entry("collect", Kinds::collect),
	    Map.entry("young", Kinds::young), Map.entry("touch", Kinds::touch),
	    Map.entry("classes", Kinds::classes),
	    Map.entry("dump", Kinds::dump));

	private static int number(Map<String, String[]> q, String name) {
		String[] value = q.get(name);
		return value == null ? 1 : Integer.parseInt(value[0]);
	}

	private static void compute(Map<String, String[]> q) {
		long end = THREADS.getCurrentThreadCpuTime() +
		    number(q, "ms") * 1000000L;
		while (THREADS.getCurrentThreadCpuTime() < end)
			continue;
	}

	private static String text(Map<String, String[]> q, String name) {
		return q.containsKey(name) ? q.get(name)[0] : "";
	}

	private static void pause(int ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	/** Do something while this thread has what is named in the request. */
	private static void with(Map<String, String[]> q, Runnable action)
	    throws Exception {
		switch (text(q, "of")) {
		case "pool" -> {
			POOL.acquire();
			action.run();
			POOL.release();
		}
		case "writer" -> {
			FILES.writeLock().lock();
			action.run();
			FILES.writeLock().unlock();
		}
		case "class" -> {
			System.getProperties().put(SLOW, action);
			slow = new Loader(SLOW, classFile(SLOW))
			    .loadClass(SLOW);
			Class.forName(SLOW, true, slow.getClassLoader());
		}
		case "second" -> SECOND.submit(action).get();
		default -> {
			synchronized (LOCK) {
				action.run();
			}
		}
		}
	}

	private static void hold(Map<String, String[]> q) throws Exception {
		CountDownLatch taken = new CountDownLatch(1);
		Thread holder = new Thread(() -> {
			try {
				with(q, () -> {
					taken.countDown();
					if (text(q, "how").equals("compute"))
						compute(q);
					else
						pause(number(q, "ms"));
				});
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}, "holder");
		holder.setDaemon(true);
		holder.start();
		taken.await();
	}

	private static void take(Map<String, String[]> q) throws Exception {
		switch (text(q, "of")) {
		case "writer" -> {
			FILES.readLock().lock();
			FILES.readLock().unlock();
		}
		case "class" ->
			Class.forName(SLOW, true, slow.getClassLoader());
		case "second" -> CompletableFuture.runAsync(
		    () -> { }, SECOND).get();
		default -> with(q, () -> sink++);
		}
	}

	private static void cold(Map<String, String[]> q) throws IOException {
		try (RandomAccessFile file =
		    new RandomAccessFile(DATA + "/cold", "r")) {
			int blocks = (int) (file.length() / BLOCK);
			byte[] buffer = new byte[BLOCK];
			for (int i = number(q, "n"); i > 0; i--) {
				file.seek((long) BLOCK * ThreadLocalRandom
				    .current().nextInt(blocks));
				file.readFully(buffer);
			}
		}
	}

	private static void mapped(Map<String, String[]> q)
	    throws IOException {
		try (RandomAccessFile file =
		    new RandomAccessFile(DATA + "/cold", "r")) {
			ByteBuffer m = file.getChannel().map(
			    FileChannel.MapMode.READ_ONLY, 0, file.length());
			int pages = m.capacity() / PAGE;
			int[] places = ThreadLocalRandom.current()
			    .ints(number(q, "n"), 0, pages).toArray();
			twice(() -> {
				for (int place : places)
					sink += m.get(PAGE * place);
			});
		}
	}

	/** Do what faults, and once more when nothing does. */
	private static void twice(Runnable action) {
		long begin = System.nanoTime();
		action.run();
		long end = System.nanoTime();
		action.run();
		TWICE.set(new long[] {begin, end, System.nanoTime() - end});
	}

	private static void fsync(Map<String, String[]> q) throws IOException {
		String path = DATA + "/sync-" + ProcessHandle.current().pid();
		try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
			FileChannel channel = file.getChannel();
			for (int i = number(q, "n"); i > 0; i--) {
				channel.write(PIECE.duplicate());
				channel.force(true);
			}
		}
	}

	private static void upstream(Map<String, String[]> q)
	    throws IOException {
		int port = Integer.parseInt(System.getenv("FOREIGN_UPSTREAM"));
		try (Socket socket = new Socket("127.0.0.1", port)) {
			InputStream in = socket.getInputStream();
			socket.getOutputStream().write(
			    ("GET /work?kind=sleep&ms=" + number(q, "ms") +
				" HTTP/1.0\r\n\r\n")
				.getBytes(StandardCharsets.US_ASCII));
			in.readAllBytes();
		}
	}

	private static void udp(Map<String, String[]> q) throws IOException {
		int port = Integer.parseInt(System.getenv("FOREIGN_SILENT"));
		try (DatagramSocket socket = new DatagramSocket()) {
			socket.setSoTimeout(number(q, "ms"));
			socket.send(new DatagramPacket(new byte[1], 1,
			    InetAddress.getLoopbackAddress(), port));
			socket.receive(new DatagramPacket(new byte[512], 512));
		} catch (SocketTimeoutException e) {
			return;
		}
	}

	/** A full collection, of so many live objects. */
	private static void collect(Map<String, String[]> q) {
		int n = number(q, "n");
		if (heap.length < n) {
			Object[] objects = new Object[n];
			for (int i = 0; i < n; i++)
				objects[i] = new int[4];
			heap = objects;
		}
		System.gc();
	}

	/** Garbage until a collection more has been counted. */
	private static void young(Map<String, String[]> q) {
		long before = collections();
		Object[] live = new Object[number(q, "n")];
		for (int i = 0; collections() == before; i++)
			live[i % live.length] = new int[64];
	}

	private static long collections() {
		long count = 0;
		for (var bean : ManagementFactory.getGarbageCollectorMXBeans())
			count += bean.getCollectionCount();
		return count;
	}

	/** Memory outside of the heap, touched for the first time. */
	private static void touch(Map<String, String[]> q) {
		int n = number(q, "n");
		byte[] page = new byte[PAGE];
		long begin = System.nanoTime();
		ByteBuffer memory = ByteBuffer.allocateDirect(n * PAGE);
		long end = System.nanoTime();
		for (int i = 0; i < n; i++)
			memory.put(i * PAGE, page);
		TWICE.set(new long[] {begin, end, System.nanoTime() - end});
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
	}

	/** Its initialiser does what the thread that began it has to do. */
	public static final class Slow {
		static {
			((Runnable) System.getProperties().get("Kinds$Slow")).run();
		}

		private Slow() {
		}
	}

	/** Defines one class, once. */
	private static final class Loader extends ClassLoader {
		private final String name;
		private final byte[] template;

		private Loader(String name, byte[] template) {
			this.name = name;
			this.template = template;
		}

		@Override
		protected Class<?> loadClass(String name, boolean resolve)
		    throws ClassNotFoundException {
			if (!name.equals(this.name))
				return super.loadClass(name, resolve);
			Class<?> old = findLoadedClass(name);
			return old != null ? old
			    : defineClass(name, template, 0, template.length);
		}
	}

	private static byte[] classFile(String name) throws IOException {
		try (InputStream in =
		    Kinds.class.getResourceAsStream(name + ".class")) {
			return in.readAllBytes();
		}
	}

	private static void classes(Map<String, String[]> q) throws Exception {
		byte[] template = classFile(TEMPLATE);
		for (int i = number(q, "n"); i > 0; i--)
			Class.forName(
			    TEMPLATE, true, new Loader(TEMPLATE, template));
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

	/** Deep stacks, so that it takes a while. */
	private static synchronized void dump(Map<String, String[]> q)
	    throws InterruptedException {
		if (sleepers == null) {
			sleepers = new CountDownLatch(SLEEPERS);
			for (int i = 0; i < SLEEPERS; i++) {
				Thread t = new Thread(
				    () -> sleeper(DEPTH, sleepers));
				t.setDaemon(true);
				t.start();
			}
			sleepers.await();
		}
		THREADS.dumpAllThreads(true, true);
	}

	/** Some of it lives for a while, so that collections have work. */
	private static byte[] file(String name) throws IOException {
		for (int i = 0; i < LITTER; i++)
			KEPT[i % KEPT.length] = new byte[1024];
		return Files.readAllBytes(Path.of(DATA, name));
	}

	/** Do what a query asks for. */
	static Response work(Map<String, String[]> q, InputStream in)
	    throws IOException {
		Response r = new Response();
		String kind = q.containsKey("kind") ? q.get("kind")[0] : "none";
		byte[] posted = in.readAllBytes();
		long begin = System.nanoTime();
		long ran = THREADS.getCurrentThreadCpuTime();
		try {
			switch (kind) {
			case "big" -> r.body = new byte[number(q, "bytes")];
			case "upload" -> r.body = Integer.toString(
			    posted.length).getBytes();
			case "echo" -> r.body = posted;
			case "file" -> r.body = file(q.get("name")[0]);
			case "stream" -> {
				r.body = new byte[0];
				r.events = number(q, "n");
			}
			default -> {
				KINDS.get(kind).act(q);
				r.body = "done\n".getBytes();
			}
			}
		} catch (Exception e) {
			throw new IOException(e);
		}
		long end = System.nanoTime();
		long cpu = THREADS.getCurrentThreadCpuTime() - ran;
		if (TWICE.get() != null) {
			begin = TWICE.get()[0];
			end = TWICE.get()[1];
			cpu = TWICE.get()[2];
			TWICE.remove();
		}
		/* PID/task/TID */
		String thread = Files.readSymbolicLink(
		    Path.of("/proc/thread-self")).toString();
		r.truth = begin + " " + end + " " + cpu + " " +
		    thread.replace("/task/", " ");
		return r;
	}
}
