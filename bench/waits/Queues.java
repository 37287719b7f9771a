import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;

/** Two threads that pass a number to and fro through two queues: arguments KIND MILLISECONDS; prints hand-overs a second. */
final class Queues {
    private static BlockingQueue<Integer> queue(String kind) {
        return kind.equals("synchronous") ? new SynchronousQueue<>() : new LinkedBlockingQueue<>();
    }

    public static void main(String[] arguments) throws InterruptedException {
        BlockingQueue<Integer> there = queue(arguments[0]), back = queue(arguments[0]);
        Thread other = new Thread(() -> {
            try {
                for (;;) {
                    back.put(there.take() + 1);
                }
            } catch (InterruptedException e) {
                // The end.
            }
        });
        other.setDaemon(true);
        other.start();
        // Until the compilers are done.
        run(there, back, 400);
        System.out.println(run(there, back, Long.parseLong(arguments[1])));
    }

    private static double run(BlockingQueue<Integer> there, BlockingQueue<Integer> back, long milliseconds)
            throws InterruptedException {
        long begin = System.nanoTime(), took, count = 0;
        do {
            there.put((int) count);
            back.take();
            count++;
        } while ((took = System.nanoTime() - begin) < milliseconds * 1_000_000);
        return 2 * count / (took / 1e9);
    }
}
