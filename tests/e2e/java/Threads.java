import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Threads, a monitor that they share, a pool, and the collector's own threads; what it prints is the same each time. */
public class Threads {
    static final Object monitor = new Object();
    static int count;
    static int turn;

    static void add() {
        for (int i = 0; i < 20000; i++) {
            synchronized (monitor) {
                count++;
            }
        }
    }

    static void takeTurns(int mine) {
        for (int i = 0; i < 200; i++) {
            synchronized (monitor) {
                while (turn % 2 != mine) {
                    try {
                        monitor.wait();
                    } catch (InterruptedException e) {
                        throw new RuntimeException(e);
                    }
                }
                turn++;
                monitor.notifyAll();
            }
        }
    }

    static void run(int threads, java.util.function.IntConsumer body) throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int mine = i;
            all.add(new Thread(() -> body.accept(mine)));
        }
        for (Thread thread : all) {
            thread.start();
        }
        for (Thread thread : all) {
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        run(8, mine -> add());
        System.out.println("counted: " + count);
        run(2, Threads::takeTurns);
        System.out.println("turns: " + turn);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int size = 100000 + i;
            all.add(pool.submit(() -> new byte[size].length));
        }
        long sum = 0;
        for (Future<Integer> future : all) {
            sum += future.get();
        }
        pool.shutdown();
        System.out.println("pool: " + sum + ", ended: " + pool.awaitTermination(60, TimeUnit.SECONDS));
        System.gc();
        synchronized (monitor) {
            monitor.wait(5);
        }
        System.out.println("done");
    }
}
