import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.Scanner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.FilterDirectoryReader;
import org.apache.lucene.index.FilterLeafReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.StoredFieldVisitor;

/**
 * The search service of examples/lucene with hazards on command, for
 * injector.py.  Options are the service's; standard input orders:
 *
 *   begin       nothing; it is done when the next document is read
 *   gc          one System.gc()
 *   lock MS     a lock that reading a document needs is held so long
 *   disk N MS   from now on, one document in N takes synchronous writes of up
 *               to so long; 0 0: none
 *
 * Standard output has a line for each: its name, begin and end, in ns of
 * CLOCK_MONOTONIC.
 */
public final class HazardousSearch {
	private static final int BLOCK = 4096;

	private static final Object shared = new Object();
	private static boolean awaited; /* under shared */
	private static volatile int diskOneIn;
	private static volatile long diskNs;

	private HazardousSearch() {}

	private static synchronized void report(String what, long begin) {
		System.out.println(what + " " + begin + " " + System.nanoTime());
	}

	private static void collect() {
		long begin = System.nanoTime();
		System.gc();
		report("gc", begin);
	}

	private static void hold(long ms) {
		synchronized (shared) {
			long begin = System.nanoTime();
			try {
				Thread.sleep(ms);
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
			report("lock", begin);
		}
	}

	/** Synchronous writes of a file of the thread's own. */
	private static final ThreadLocal<RandomAccessFile> scratch =
	    ThreadLocal.withInitial(() -> {
		    try {
			    java.io.File f = java.io.File.createTempFile(
				"hazard", "", new java.io.File("/var/tmp"));
			    RandomAccessFile r = new RandomAccessFile(f, "rwd");
			    f.delete();
			    return r;
		    } catch (IOException e) {
			    throw new java.io.UncheckedIOException(e);
		    }
	    });

	private static void disk() throws IOException {
		long begin = System.nanoTime();
		long length = ThreadLocalRandom.current().nextLong(diskNs + 1);
		ByteBuffer block = ByteBuffer.allocateDirect(BLOCK);
		while (System.nanoTime() - begin < length)
			scratch.get().getChannel().write(block.clear(), 0);
		report("disk", begin);
	}

	/** Whose documents may need the disk. */
	private static final class Slow extends FilterDirectoryReader {
		Slow(DirectoryReader in) throws IOException {
			super(in, new SubReaderWrapper() {
				@Override
				public LeafReader wrap(LeafReader reader) {
					return new SlowLeaf(reader);
				}
			});
		}

		@Override
		protected DirectoryReader doWrapDirectoryReader(
		    DirectoryReader in) throws IOException {
			return new Slow(in);
		}

		@Override
		public CacheHelper getReaderCacheHelper() {
			return in.getReaderCacheHelper();
		}
	}

	private static final class SlowLeaf extends FilterLeafReader {
		SlowLeaf(LeafReader in) {
			super(in);
		}

		@Override
		public void document(int id, StoredFieldVisitor visitor)
		    throws IOException {
			synchronized (shared) {
				if (awaited)
					report("begin", System.nanoTime());
				awaited = false;
			}
			int one = diskOneIn;
			if (one > 0
			    && ThreadLocalRandom.current().nextInt(one) == 0)
				disk();
			super.document(id, visitor);
		}

		@Override
		public CacheHelper getCoreCacheHelper() {
			return in.getCoreCacheHelper();
		}

		@Override
		public CacheHelper getReaderCacheHelper() {
			return in.getReaderCacheHelper();
		}
	}

	private static void obey(Scanner in) {
		ExecutorService gc = Executors.newSingleThreadExecutor();
		ExecutorService holder = Executors.newSingleThreadExecutor();
		while (in.hasNext()) {
			switch (in.next()) {
			case "begin" -> {
				synchronized (shared) {
					awaited = true;
				}
			}
			case "gc" -> gc.submit(HazardousSearch::collect);
			case "lock" -> {
				long ms = in.nextLong();
				holder.submit(() -> hold(ms));
			}
			case "disk" -> {
				diskOneIn = in.nextInt();
				diskNs = in.nextLong() * 1_000_000;
			}
			default -> throw new IllegalArgumentException();
			}
		}
		System.exit(0);
	}

	public static void main(String[] arguments) throws Exception {
		Options options = Options.parse(arguments);
		HttpService service = new HttpService(
		    new Slow(Index.open(options.index)), options);
		service.start();
		System.err.println("search: listening on " + service.address());
		obey(new Scanner(System.in));
	}
}
