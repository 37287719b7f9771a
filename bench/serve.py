#!/usr/bin/env python3
"""What `unspin meter --serve` costs memcached: the server's CPU time, and the time that clients need, for a fixed number of requests.

    bench/serve.py UNSPIN [ROUNDS]

Variants run one after another in each round, in an order that rotates. While a metered server works, /metrics and
/debug/pprof/mutex are asked for once a second. Needs memcached and a C compiler. Compare on a machine that does nothing else.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PORT = 23011
SERVE = 23012
THREADS, REQUESTS = 4, 200_000
TICKS = os.sysconf("SC_CLK_TCK")

VARIANTS = {
    "plain": [],
    "counts": ["--level", "counts"],
    "sampled": ["--level", "sampled"],
    "full": ["--level", "full"],
}


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def await_port(port):
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit(f"nothing listens at port {port}")


def scrape(stop, count):
    while not stop.wait(1):
        for path in ("/metrics", "/debug/pprof/mutex"):
            with urllib.request.urlopen(f"http://127.0.0.1:{SERVE}{path}") as answer:
                answer.read()
        count.append(1)


def run(unspin, load, variant):
    server = ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(PORT), "-t", str(THREADS)]
    options = VARIANTS[variant]
    command = [unspin, "meter", *options, "--serve", f"127.0.0.1:{SERVE}", "-o", os.devnull, *server] if options else server
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    await_port(PORT)
    stop, scrapes = threading.Event(), []
    pid = process.pid
    if options:
        # The main thread of unspin is not the one that starts the program.
        tasks = os.listdir(f"/proc/{pid}/task")
        pid = next(child for task in tasks for child in map(int, open(f"/proc/{pid}/task/{task}/children").read().split()))
        scraper = threading.Thread(target=scrape, args=(stop, scrapes))
        scraper.start()
    subprocess.run([load, str(PORT), str(THREADS), "20000"], check=True, stdout=subprocess.DEVNULL)
    before, own = cpu_s(pid), cpu_s(process.pid)
    wall = float(subprocess.run([load, str(PORT), str(THREADS), str(REQUESTS)], check=True, capture_output=True).stdout)
    server_s, unspin_s = cpu_s(pid) - before, cpu_s(process.pid) - own
    if options:
        stop.set()
        scraper.join()
    os.kill(pid, 15)
    process.wait()
    return wall, server_s, unspin_s if options else 0.0, len(scrapes)


def main():
    unspin, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as folder:
        load = os.path.join(folder, "load")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "c", "memcached_load.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-pthread", source, "-o", load], check=True)
        names = list(VARIANTS)
        results = {name: [] for name in names}
        for at in range(rounds):
            for name in names[at % len(names) :] + names[: at % len(names)]:
                results[name].append(run(unspin, load, name))
                print(at, name, *(f"{value:.2f}" for value in results[name][-1]), file=sys.stderr)
    print(f"{THREADS * REQUESTS} requests, {rounds} rounds; ratios to plain of the same round: median (least to most)")
    for name in names:
        line = f"{name:8}"
        for of, title in enumerate(["time", "server's CPU time"]):
            ratios = sorted(one[of] / plain[of] for one, plain in zip(results[name], results["plain"]))
            line += f"  {title} {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        own = statistics.median(one[2] / one[0] for one in results[name])
        print(line + f"  unspin {100 * own:.1f} % of a CPU, {sum(one[3] for one in results[name])} scrapes")


if __name__ == "__main__":
    main()
