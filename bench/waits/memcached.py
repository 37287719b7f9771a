"""One synchronous client of the memcached at a unix socket for the milliseconds given; prints requests a second."""
import socket
import sys
import time

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
seconds = float(sys.argv[2]) / 1e3
connection.sendall(b"set key 0 0 5\r\nvalue\r\n")
assert connection.recv(100) == b"STORED\r\n"
expected = b"VALUE key 0 5\r\nvalue\r\nEND\r\n"


def ask():
    connection.sendall(b"get key\r\n")
    answer = connection.recv(100)
    while len(answer) < len(expected):
        answer += connection.recv(100)
    assert answer == expected


for _ in range(200):
    ask()
count, begin = 0, time.monotonic()
while (took := time.monotonic() - begin) < seconds:
    ask()
    count += 1
print(count / took)
