/*
 * Drive.java: does what test_java.c tells it on standard input, a line each,
 * and answers with a line each.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;

public final class Drive {
	private static TaleChain t;
	private static long next; /* number of the next event */

	/* Event i is a function of i, so that the other side can check it. */
	private static void emit(long count)
	{
		for (; count > 0; count--, next++)
			t.emit(TaleChain.APP_MARK, next, 3 * next, ~next,
			    next ^ 0x5555);
	}

	private static long allocated()
	{
		return ((com.sun.management.ThreadMXBean)
			    ManagementFactory.getThreadMXBean())
		    .getThreadAllocatedBytes(Thread.currentThread().getId());
	}

	private static String allocation(long count)
	{
		emit(count); /* warm up: the compiler's own garbage */
		allocated();
		long before = allocated();
		emit(count);
		return "allocated " + (allocated() - before);
	}

	/* Each thread its own channel, several at once. */
	private static String threads(int n) throws InterruptedException
	{
		Thread[] all = new Thread[n];

		for (int i = 0; i < n; i++) {
			long id = i;
			all[i] = new Thread(() -> {
				TaleChain own = TaleChain.forThread();

				while (!own.isConnected())
					Thread.onSpinWait();
				own.emit(TaleChain.APP_START, id, 0, 0, 0);
				own.close();
			}, "pool worker/" + i);
			all[i].start();
		}
		for (Thread one : all)
			one.join();
		return "joined";
	}

	private static String command(String[] word) throws InterruptedException
	{
		long before = System.nanoTime();

		switch (word[0]) {
		case "emit":
			while (!t.isConnected())
				Thread.onSpinWait();
			before = System.nanoTime();
			emit(Long.parseLong(word[1]));
			return "emitted " + before + " " + System.nanoTime();
		case "gone":
			while (t.isConnected())
				Thread.onSpinWait();
			t.emit(TaleChain.APP_MARK, 0, 0, 0, 0);
			return "gone";
		case "words":
			t.queueLength(17);
			t.working(TaleChain.request("00000000DeadBeef"));
			t.state(99);
			return "words " + TaleChain.request("xyz") + " " +
			    TaleChain.request("12345678123456789") + " " +
			    TaleChain.request(null) + " " +
			    TaleChain.request("ffffffffffffffff");
		case "allocation":
			return allocation(Long.parseLong(word[1]));
		case "threads":
			return threads(Integer.parseInt(word[1]));
		default:
			return "what?";
		}
	}

	public static void main(String[] args) throws Exception
	{
		BufferedReader in =
		    new BufferedReader(new InputStreamReader(System.in));
		String line;

		t = TaleChain.open(args[0], "drive", 10);
		t.emit(TaleChain.APP_MARK, 1, 2, 3, 4); /* perhaps a no-op */
		System.out.println("ready");
		while ((line = in.readLine()) != null)
			System.out.println(command(line.split(" ")));
		t.close();
		t.emit(TaleChain.APP_MARK, 1, 2, 3, 4); /* surely one */
	}
}
