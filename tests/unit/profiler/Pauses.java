/*
 * Pauses.java: a JVM that collects when it is told to.
 *
 * Reads commands: "alloc N" (make garbage until N more collections have been
 * counted, or half a second has passed), "gc N" (N times System.gc()),
 * "stacks N" (N thread dumps: safepoints without a collection), "quit".
 * Answers each with a line.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

public final class Pauses {
	static volatile Object sink;
	static final Object[] kept = new Object[512];

	static long collections() {
		long n = 0;
		for (GarbageCollectorMXBean b :
		    ManagementFactory.getGarbageCollectorMXBeans())
			n += b.getCollectionCount();
		return n;
	}

	static void alloc(long wanted) {
		long until = System.nanoTime() + 500_000_000L;
		long target = collections() + wanted;
		int i = 0;
		while (collections() < target && System.nanoTime() < until)
			for (int k = 0; k < 64; k++) {
				byte[] b = new byte[16 << 10];
				sink = b;
				if ((i++ & 15) == 0)
					kept[(i >> 4) % kept.length] = b;
			}
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in =
		    new BufferedReader(new InputStreamReader(System.in));
		collections();
		System.out.println("ready");
		for (String line; (line = in.readLine()) != null;) {
			String[] word = line.split(" ");
			if (word[0].equals("quit"))
				break;
			long n = Long.parseLong(word[1]);
			if (word[0].equals("alloc"))
				alloc(n);
			else if (word[0].equals("gc"))
				for (; n > 0; n--)
					System.gc();
			else
				for (; n > 0; n--)
					ManagementFactory.getThreadMXBean()
					    .dumpAllThreads(false, false);
			System.out.println("done " + collections());
		}
	}
}
