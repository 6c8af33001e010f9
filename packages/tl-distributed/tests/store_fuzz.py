"""Garbage for a store's server: `store_fuzz.py --count 200000 --seed 1`.

Inputs are sequences of requests that are well formed, cut, damaged, or nothing but noise. After each hundred the server
must still answer somebody else, within seconds.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
from datetime import timedelta

import tl_distributed as dist

KNOWN = b"\x00\xce\xf7\x85\x3c"
NUMBERS = [0, 1, 2, 3, 7, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1, -1, -(1 << 63)]


def value(r: random.Random) -> bytes:
    data = r.choice([b"", b"/a", b"/b", b"7", b"-1", b"x" * r.randrange(40), b"9223372036854775807"])
    size = len(data) if r.random() < 0.9 else r.choice(NUMBERS)
    return struct.pack("<q", size) + data


def request(r: random.Random) -> bytes:
    kind = r.choice(range(19)) if r.random() < 0.9 else r.randrange(256)
    parts = [
        value(r) if r.random() < 0.7 else struct.pack("<q", r.choice(NUMBERS)) for _ in range(r.randrange(4))
    ]
    return bytes([kind]) + b"".join(parts)


def garbage(r: random.Random) -> bytes:
    if r.random() < 0.1:
        return r.randbytes(r.randrange(200))
    data = bytearray(KNOWN + b"".join(request(r) for _ in range(r.randrange(1, 6))))
    if r.random() < 0.3:
        del data[r.randrange(len(data)) :]
    for _ in range(r.choice([0, 0, 1, 3])):
        if data:
            data[r.randrange(len(data))] = r.randrange(256)
    return bytes(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    r = random.Random(options.seed)
    server = dist.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=20))
    open_: list[socket.socket] = []  # some stay, so that what waits is dropped much later
    for i in range(options.count):
        link = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        link.sendall(garbage(r))
        if r.random() < 0.2:
            link.shutdown(socket.SHUT_WR)
        if r.random() < 0.02:
            open_.append(link)
        else:
            link.close()
        if len(open_) > 50:
            open_.pop(r.randrange(len(open_))).close()
        if i % 100 == 0:
            assert server.add("alive/" + str(i), 1) == 1
    other = dist.TCPStore("localhost", server.port, timeout=timedelta(seconds=20))
    other.set("well", "yes")
    assert server.get("well") == b"yes"
    print(f"{options.count} inputs, the server answers")


if __name__ == "__main__":
    main()
