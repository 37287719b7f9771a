"""Two threads that pass a number to and fro through two queues for the milliseconds given; prints hand-overs a second."""
import queue
import sys
import threading
import time

there, back = queue.Queue(), queue.Queue()


def answer():
    while (value := there.get()) is not None:
        back.put(value + 1)


threading.Thread(target=answer, daemon=True).start()
seconds = float(sys.argv[1]) / 1e3
for _ in range(200):
    there.put(0)
    back.get()
count, begin = 0, time.monotonic()
while (took := time.monotonic() - begin) < seconds:
    there.put(count)
    back.get()
    count += 1
there.put(None)
print(2 * count / took)
