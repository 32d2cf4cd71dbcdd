/*
 * TaleChain.java: TaleChain events and channels, and an emitter for Java 17.
 *
 * One file to drop into a service: it needs nothing but java.base, and stands
 * in the unnamed package; put a package line above the imports if yours is a
 * named one.  It speaks the same protocol as talechain.h: Tailor makes a ring
 * of shared memory, this class maps it, and an event is eight stores into it.
 * Emitting never blocks, never throws, never allocates and makes no system
 * call; without a running Tailor it is one load and a branch.
 *
 *	TaleChain t = TaleChain.open("worker-1");     // by the worker itself
 *	t.emit(TaleChain.APP_START, request, queueLength, task, 0);
 *	t.queueLength(n);
 *	t.close();
 *
 * A TaleChain belongs to the thread that opened it: a ring has one writer.
 * Use forThread() where threads come from a pool.  One daemon thread for all
 * of them looks every half second for a Tailor that has appeared, restarted
 * or gone, so the order in which the two start does not matter.
 *
 * System.nanoTime() is CLOCK_MONOTONIC on HotSpot under Linux, as Tailor
 * expects; tests/unit/talechain/test_java.c holds it to that.
 *
 * It is not a logger: when Tailor is slow, old events are overwritten, and
 * Tailor knows how many.
 *
 * Tailor's memory is opened through /proc/PID/fd, so both must see the same
 * /proc and the service must run as Tailor's user or as root.
 *
 * Cost: System.nanoTime() and a few dozen ns an event; 4 KiB + 64 B * slots.
 */
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

public final class TaleChain implements AutoCloseable {
	/* The event table of talechain.h; a test compares the two. */
	public static final int WAKEUP = 0x0101;
	public static final int SCHEDULE = 0x0102;
	public static final int THREAD = 0x0104;
	public static final int EXEC = 0x0105;
	public static final int EXIT = 0x0106;
	public static final int STACK = 0x0107;
	public static final int SYMBOL = 0x0108;
	public static final int PEER = 0x0109;
	public static final int SOFTIRQ = 0x0201;
	public static final int INTERRUPT = 0x0202;
	public static final int TCP_RECV = 0x0301;
	public static final int TCP_XMIT = 0x0302;
	public static final int TCP_ACK = 0x0303;
	public static final int TCP_RETRANSMIT = 0x0304;
	public static final int SOCK_SEND = 0x0305;
	public static final int SOCK_RECV = 0x0306;
	public static final int SOCK_PEER = 0x0307;
	public static final int PAGEFAULT = 0x0401;
	public static final int RECLAIM = 0x0402;
	public static final int SYSCALL = 0x0501;
	public static final int IDLE = 0x0601;
	public static final int STEAL = 0x0602;
	public static final int QUOTA = 0x0603;
	public static final int EPOCH_SUM = 0x0701;
	public static final int EPOCH_REST = 0x0702;
	public static final int PROXY_RECEIVE = 0x1001;
	public static final int PROXY_FINISH = 0x1002;
	public static final int PROXY_ATTEMPT = 0x1003;
	public static final int PROXY_HEDGE = 0x1004;
	public static final int PROXY_FIRST_BYTE = 0x1005;
	public static final int PROXY_ATTEMPT_END = 0x1006;
	public static final int PROXY_SWAP = 0x1007;
	public static final int PROXY_COMMIT = 0x1008;
	public static final int APP_RECEIVE = 0x2001;
	public static final int APP_START = 0x2002;
	public static final int APP_FINISH = 0x2003;
	public static final int APP_MARK = 0x2004;
	public static final int JVM_GC_BEGIN = 0x3001;
	public static final int JVM_GC_END = 0x3002;
	public static final int JVM_SAFEPOINT_BEGIN = 0x3003;
	public static final int JVM_SAFEPOINT_END = 0x3004;
	public static final int JVM_YIELDPOINT = 0x3005;
	public static final int JVM_START = 0x3006;
	public static final int JVM_DEATH = 0x3007;
	public static final int JVM_RATES = 0x3008;
	public static final int JVM_THREAD = 0x3009;
	public static final int SERVER_START = 0x4001;
	public static final int SERVER_EXIT = 0x4002;
	public static final int PAUSE_BEGIN = 0x4003;
	public static final int PAUSE_END = 0x4004;
	public static final int RATE = 0x5001;
	public static final int META_LOST = 0xf001;
	public static final int META_BLIND = 0xf002;
	public static final int META_CALIBRATION = 0xf003;
	public static final int META_CHANNEL = 0xf004;
	public static final int META_UNSAMPLED = 0xf005;

	/** Where the first Tailor listens; TALECHAIN_SOCKET names another. */
	public static final String SOCKET_DEFAULT =
	    "/run/tailor/channels.sock";
	/** Ring of 4096 events. */
	public static final int SLOT_LOG2_DEFAULT = 12;

	private static final int SLOT_LOG2_MIN = 6, SLOT_LOG2_MAX = 20;
	private static final int KIND_APP = 1;
	private static final long RETRY_MS = 500, REPLY_MS = 1000;

	/* Offsets within a channel; see the drawings in talechain.h. */
	private static final int MAGIC = 0x48434c54;
	private static final int HEADER_BYTES = 4096, SLOT_BYTES = 64;
	private static final int AT_MAJOR = 4, AT_HEADER_BYTES = 8;
	private static final int AT_SLOT_BYTES = 12, AT_SLOT_LOG2 = 16;
	private static final int AT_READY = 96, AT_HEAD = 128;
	private static final int AT_STATE = 256, AT_WORD = 320;
	private static final int WORD_QUEUE = 1, WORD_REQUEST = 2;

	private static final boolean LITTLE =
	    ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
	private static final VarHandle LONG =
	    MethodHandles.byteBufferViewVarHandle(
		long[].class, ByteOrder.nativeOrder());

	/* Every open TaleChain, for the thread that connects; guarded by itself. */
	private static final List<TaleChain> all = new ArrayList<>();
	private static Thread connector; /* guarded by all */

	private static final ThreadLocal<TaleChain> own = new ThreadLocal<>();

	/** A mapped ring.  Only head changes, and only its writer changes it. */
	private static final class Ring {
		final ByteBuffer memory; /* absolute access only */
		final int mask;
		long head;

		Ring(ByteBuffer memory, int slotLog2)
		{
			this.memory = memory;
			this.mask = (1 << slotLog2) - 1;
			this.head = (long)LONG.getOpaque(memory, AT_HEAD);
		}
	}

	private final String path, name;
	private final int slotLog2;
	private final Thread owner; /* the writer */
	private final long tid;	  /* the owner's */
	private final long who;	  /* tid and pid as they stand in an event */
	private Ring ring;	  /* null: no Tailor; see ring() */
	private SocketChannel socket; /* connector's; guarded by this */
	private boolean closed;	      /* guarded by this */

	private static final VarHandle RING;

	static {
		try {
			RING = MethodHandles.lookup().findVarHandle(
			    TaleChain.class, "ring", Ring.class);
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	private TaleChain(String path, String name, int slotLog2)
	{
		if (!name.matches("[A-Za-z0-9._-]{1,31}"))
			throw new IllegalArgumentException(
			    "name: 1 .. 31 of [A-Za-z0-9._-]");
		if (slotLog2 < SLOT_LOG2_MIN || slotLog2 > SLOT_LOG2_MAX)
			throw new IllegalArgumentException("slotLog2: 6 .. 20");
		this.path = path;
		this.name = name;
		this.slotLog2 = slotLog2;
		this.owner = Thread.currentThread();
		this.tid = threadId();
		long pid = ProcessHandle.current().pid();
		this.who = pair((int)tid, (int)pid);
	}

	/** A channel of the calling thread's, at the default socket. */
	public static TaleChain open(String name)
	{
		String path = System.getenv("TALECHAIN_SOCKET");

		return open(path == null || path.isEmpty() ? SOCKET_DEFAULT
							   : path,
		    name, SLOT_LOG2_DEFAULT);
	}

	/**
	 * A channel of the calling thread's.
	 *
	 * @param path      Tailor's Unix socket
	 * @param name      shown in timelines, 1 .. 31 of [A-Za-z0-9._-]
	 * @param slotLog2  6 .. 20: ring of 64 .. 1 M events
	 * @throws IllegalArgumentException if name or slotLog2 is none
	 *
	 * Returns at once; connecting is the daemon thread's business.
	 */
	public static TaleChain open(String path, String name, int slotLog2)
	{
		TaleChain t = new TaleChain(path, name, slotLog2);

		synchronized (all) {
			all.add(t);
			if (connector == null) {
				connector =
				    new Thread(TaleChain::connectLoop,
					"talechain-connector");
				connector.setDaemon(true);
				connector.start();
			}
			all.notifyAll();
		}
		return t;
	}

	/**
	 * The calling thread's own channel, opened on first use and named after
	 * the thread (what does not fit a name becomes '-').
	 */
	public static TaleChain forThread()
	{
		TaleChain t = own.get();

		if (t == null) {
			String n = Thread.currentThread().getName().replaceAll(
			    "[^A-Za-z0-9._-]", "-");
			if (n.isEmpty())
				n = "thread";
			t = open(n.substring(0, Math.min(n.length(), 31)));
			own.set(t);
		}
		return t;
	}

	/** Write one event, stamped now.  The owning thread only. */
	public void emit(int type, long a0, long a1, long a2, long a3)
	{
		Ring r = (Ring)RING.getAcquire(this);

		if (r != null)
			write(r, System.nanoTime(), type, a0, a1, a2, a3);
	}

	/** The same with a stamp of System.nanoTime() taken earlier. */
	public void emitAt(
	    long nanoTime, int type, long a0, long a1, long a2, long a3)
	{
		Ring r = (Ring)RING.getAcquire(this);

		if (r != null)
			write(r, nanoTime, type, a0, a1, a2, a3);
	}

	/** Publish how many requests wait.  Any one thread. */
	public void queueLength(long n)
	{
		word(AT_WORD + 8 * WORD_QUEUE, n);
	}

	/** Publish which request is worked on, 0 for none.  Any one thread. */
	public void working(long request)
	{
		word(AT_WORD + 8 * WORD_REQUEST, request);
	}

	/** Publish a state of the service's own.  Any one thread. */
	public void state(long value)
	{
		word(AT_STATE, value);
	}

	/** Whether a Tailor is listening right now. */
	public boolean isConnected()
	{
		return RING.getAcquire(this) != null;
	}

	/**
	 * The request id in the header Tailor-Request, or 0 if it is none.
	 * Allocates nothing.
	 */
	public static long request(String header)
	{
		if (header == null || header.isEmpty() || header.length() > 16)
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

	/** Give the channel back; emitting is a no-op afterwards. */
	@Override
	public void close()
	{
		synchronized (all) {
			all.remove(this);
		}
		synchronized (this) {
			closed = true;
			disconnect();
		}
		if (own.get() == this)
			own.remove();
	}

	/*
	 * The same order as in talechain_emit_at(): every earlier event before
	 * head (release), head and the busy mark before any field (store-store
	 * fence), every field before the publishing store (release).
	 */
	private void write(
	    Ring r, long ts, int type, long a0, long a1, long a2, long a3)
	{
		ByteBuffer m = r.memory;
		long i = r.head++;
		int at = HEADER_BYTES + ((int)i & r.mask) * SLOT_BYTES;

		LONG.setRelease(m, AT_HEAD, i + 1);
		LONG.setOpaque(m, at, 2 * i + 1);
		VarHandle.storeStoreFence();
		LONG.setOpaque(m, at + 8, ts);
		LONG.setOpaque(m, at + 16, who);
		LONG.setOpaque(m, at + 24, what(type));
		LONG.setOpaque(m, at + 32, a0);
		LONG.setOpaque(m, at + 40, a1);
		LONG.setOpaque(m, at + 48, a2);
		LONG.setOpaque(m, at + 56, a3);
		LONG.setRelease(m, at, 2 * i + 2);
	}

	private void word(int at, long value)
	{
		Ring r = (Ring)RING.getAcquire(this);

		if (r != null)
			LONG.setRelease(r.memory, at, value);
	}

	/* Two 32-bit fields, the first at the lower address, as one word. */
	private static long pair(int first, int second)
	{
		int low = LITTLE ? first : second;
		int high = LITTLE ? second : first;

		return (long)high << 32 | low & 0xffffffffL;
	}

	/* type (u16), version 1 (u8), flags 0 (u8), cpu unknown (u32). */
	private static long what(int type)
	{
		return pair(LITTLE ? type & 0xffff | 1 << 16
				   : type << 16 | 1 << 8,
		    -1);
	}

	/* The kernel's number of this thread; Java has none of its own. */
	private static long threadId()
	{
		try {
			/* "PID/task/TID" */
			return Long.parseLong(
			    Files.readSymbolicLink(Path.of("/proc/thread-self"))
				.getFileName()
				.toString());
		} catch (IOException | RuntimeException e) {
			return ProcessHandle.current().pid();
		}
	}

	/* The daemon thread: keep every TaleChain connected. */
	private static void connectLoop()
	{
		for (;;) {
			TaleChain[] now;

			synchronized (all) {
				now = all.toArray(new TaleChain[0]);
			}
			for (TaleChain t : now)
				if (t.owner.isAlive())
					t.check();
				else
					t.close(); /* and forget it */
			synchronized (all) {
				if (now.length == all.size())
					try {
						all.wait(RETRY_MS);
					} catch (InterruptedException e) {
						return;
					}
			}
		}
	}

	/* Notice a Tailor that has gone, and find one that has come. */
	private synchronized void check()
	{
		if (closed)
			return;
		if (socket != null && !alive())
			disconnect();
		if (socket != null)
			return;
		try {
			connect();
		} catch (IOException | RuntimeException e) {
			/* No Tailor, or none that we understand: later. */
			disconnect();
		}
	}

	private boolean alive()
	{
		try {
			return socket.read(ByteBuffer.allocate(16)) >= 0;
		} catch (IOException e) {
			return false;
		}
	}

	private void disconnect()
	{
		RING.setRelease(this, (Ring)null);
		try {
			if (socket != null)
				socket.close();
		} catch (IOException e) {
			/* Closing is all we wanted. */
		}
		socket = null;
	}

	private void connect() throws IOException
	{
		socket = SocketChannel.open(StandardProtocolFamily.UNIX);
		socket.configureBlocking(false);
		if (!socket.connect(UnixDomainSocketAddress.of(path)))
			throw new IOException("not at once");
		String hello = "TALECHAIN 1 " + KIND_APP + " " + slotLog2 +
			       " " + tid + " " + name + "\n";
		socket.write(ByteBuffer.wrap(
		    hello.getBytes(StandardCharsets.US_ASCII)));
		String[] reply = receive().split(" ");
		if (reply.length != 3 || !reply[0].equals("OK"))
			throw new IOException("refused");
		long bytes = HEADER_BYTES + ((long)SLOT_BYTES << slotLog2);
		if (Long.parseLong(reply[2]) != bytes)
			throw new IOException("another size");
		RING.setRelease(this, map(reply[1], bytes));
	}

	/* One line; the descriptor that comes with it is not for Java. */
	private String receive() throws IOException
	{
		ByteBuffer b = ByteBuffer.allocate(256);
		long deadline = System.nanoTime() + REPLY_MS * 1000000;

		while (b.position() == 0 || b.get(b.position() - 1) != '\n') {
			int n = socket.read(b);

			if (n < 0 || !b.hasRemaining() ||
			    System.nanoTime() - deadline > 0)
				throw new IOException("no reply");
			if (n == 0)
				LockSupport.parkNanos(100000);
		}
		return new String(b.array(), 0, b.position() - 1,
		    StandardCharsets.US_ASCII);
	}

	private Ring map(String file, long bytes) throws IOException
	{
		ByteBuffer m;

		try (FileChannel f = FileChannel.open(Path.of(file),
			 StandardOpenOption.READ, StandardOpenOption.WRITE)) {
			if (f.size() != bytes)
				throw new IOException("another size");
			m = f.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
		}
		m.order(ByteOrder.nativeOrder());
		if ((long)LONG.getAcquire(m, AT_READY) != 1 ||
		    m.getInt(0) != MAGIC || m.getShort(AT_MAJOR) != 1 ||
		    m.getInt(AT_HEADER_BYTES) != HEADER_BYTES ||
		    m.getInt(AT_SLOT_BYTES) != SLOT_BYTES ||
		    m.getInt(AT_SLOT_LOG2) != slotLog2)
			throw new IOException("no channel");
		touch(m);
		return new Ring(m, slotLog2);
	}

	/* Have the page faults now, not in the middle of a request. */
	private static void touch(ByteBuffer m)
	{
		for (int at = HEADER_BYTES; at < m.capacity(); at += 4096)
			LONG.compareAndSet(m, at, 0L, 0L);
	}
}
