import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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
 *   disk N MS   from now on, one document in N takes writes past the page
 *               cache, of up to so long; 0 0: none
 *
 * Standard output has a line for each: its name, begin and end, in ns of
 * CLOCK_MONOTONIC; a write ends earlier by what its thread computed.
 */
public final class HazardousSearch {
	private static final int BLOCK = 4096;
	private static final int PIECE = 1 << 20; /* the disk needs a ms */

	private static final ThreadMXBean threads =
	    ManagementFactory.getThreadMXBean();
	private static final Object shared = new Object();
	private static boolean awaited; /* under shared */
	private static volatile int diskOneIn;
	private static volatile long diskNs;

	private HazardousSearch() {}

	private static synchronized void report(
	    String what, long begin, long end) {
		System.out.println(what + " " + begin + " " + end);
	}

	private static void collect() {
		long begin = System.nanoTime();
		System.gc();
		report("gc", begin, System.nanoTime());
	}

	private static void hold(long ms) {
		long begin;
		synchronized (shared) {
			begin = System.nanoTime();
			try {
				Thread.sleep(ms);
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
			}
		}
		report("lock", begin, System.nanoTime());
	}

	/** A file of the thread's own, and what is written. */
	private record Scratch(FileChannel file, ByteBuffer piece) {
		Scratch() throws IOException {
			this(FileChannel.open(
				 Files.createTempFile(
				     Path.of("/var/tmp"), "hazard", ""),
				 StandardOpenOption.WRITE,
				 StandardOpenOption.DELETE_ON_CLOSE,
				 ExtendedOpenOption.DIRECT),
			    ByteBuffer.allocateDirect(PIECE + BLOCK)
				.alignedSlice(BLOCK).limit(PIECE));
		}
	}

	private static final ThreadLocal<Scratch> scratch =
	    ThreadLocal.withInitial(() -> {
		    try {
			    return new Scratch();
		    } catch (IOException e) {
			    throw new java.io.UncheckedIOException(e);
		    }
	    });

	private static void disk() throws IOException {
		long length = ThreadLocalRandom.current().nextLong(diskNs + 1);
		Scratch to = scratch.get();
		long cpu = threads.getCurrentThreadCpuTime();
		long begin = System.nanoTime();
		while (System.nanoTime() - begin < length)
			to.file.write(to.piece.rewind(), 0);
		long end = System.nanoTime();
		cpu = threads.getCurrentThreadCpuTime() - cpu;
		report("disk", begin, end - cpu);
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
					report("begin", System.nanoTime(), 0);
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
