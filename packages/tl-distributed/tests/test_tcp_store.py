"""The store over the network: waiting, faults, garbage, and a world that meets there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

import tl_distributed as dist

PROGRAM = """
import tl_core as tl, tl_distributed as dist
dist.init_process_group("gloo")
total = tl.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
print(float(total), flush=True)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture
def master():
    return dist.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=10))


def client(master, **more):
    return dist.TCPStore("localhost", master.port, timeout=timedelta(seconds=10), **more)


def test_twelve_operations(master):
    store = client(master)
    store.set("a", "1")
    assert master.get("a") == b"1"
    assert store.add("n", 2) == 2 and master.add("n", 3) == 5
    store.append("a", b"23")
    assert store.multi_get(["a", "n"]) == [b"123", b"5"]
    store.multi_set(["x", "y"], ["", "z"])
    assert master.get("x") == b"" and master.check(["x", "y"]) and not master.check(["x", "nope"])
    assert store.compare_set("c", "", "v") == b"v"
    assert store.compare_set("c", "other", "u") == b"v"
    assert store.compare_set("c", "v", "u") == b"u"
    assert store.compare_set("absent", "w", "u") == b"w"
    assert store.delete_key("c") and not store.delete_key("c")
    assert store.num_keys() == 4
    assert store.port == master.port and store.host == "localhost" and store.libuvBackend
    big = bytes(range(256)) * 40_000
    store.set("big", big)
    assert master.get("big") == big
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["a", "b"], ["c"])


def test_waiting_ends_when_the_last_key_comes(master):
    store, found = client(master), []
    thread = threading.Thread(target=lambda: found.append(store.multi_get(["p", "q"])))
    thread.start()
    master.set("p", "1")
    time.sleep(0.05)
    assert found == []
    master.set("q", "2")
    thread.join()
    assert found == [[b"1", b"2"]]


def test_waiting_ends_in_time_and_the_connection_is_of_use_then(master):
    store = client(master)
    for _ in range(3):
        with pytest.raises(dist.DistStoreError, match=r"wait timeout after 0\.02 s: no value for nope"):
            store.wait(["nope"], timedelta(milliseconds=20))
    store.set("nope", "x")
    assert store.get("nope") == b"x"


def test_all_must_come():
    with pytest.raises(dist.DistStoreError, match=r"1 of 2 processes came within 0\.05 s"):
        dist.TCPStore("localhost", 0, 2, True, timedelta(milliseconds=50))


def test_nobody_listens_and_a_port_that_is_taken(master):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        with pytest.raises(dist.DistNetworkError, match=f"no server at localhost:{free.getsockname()[1]}"):
            dist.TCPStore("localhost", free.getsockname()[1], timeout=timedelta(milliseconds=50))
    with pytest.raises(dist.DistNetworkError, match=f"cannot listen on port {master.port}"):
        dist.TCPStore("localhost", master.port, is_master=True)


def test_garbage_ends_only_its_own_connection(master):
    known = b"\x00\xce\xf7\x85\x3c"
    for garbage in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 64,
        known + b"\xff" * 9,
        known + b"\x01" + b"\xff" * 20,
    ):
        with socket.create_connection(("localhost", master.port), timeout=5) as link:
            link.sendall(garbage)
            assert link.recv(100) == b""
    assert client(master).add("n", 1) == 1


def test_a_store_that_is_gone_is_named():
    master = dist.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=5))
    store, port = client(master), master.port
    del master
    with pytest.raises(dist.DistNetworkError, match=f"the store at localhost:{port} is lost"):
        store.add("n", 1)
        store.add("n", 1)


def test_processes_that_meet_by_the_environment(tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    program = Path(tmp_path) / "program.py"
    program.write_text(PROGRAM)
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    jobs = [
        subprocess.Popen(
            [sys.executable, str(program)],
            stdout=subprocess.PIPE,
            text=True,
            env={**common, "RANK": str(rank)},
        )
        for rank in range(2)
    ]
    assert [job.communicate(timeout=60)[0] for job in jobs] == ["3.0\n", "3.0\n"]
