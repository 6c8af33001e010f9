"""The store over the network: waiting, faults, garbage, and a world that meets there."""

from __future__ import annotations

import os
import shutil
import signal
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
    store, values = client(master), []
    thread = threading.Thread(target=lambda: values.append(store.multi_get(["p", "q"])))
    thread.start()
    master.set("p", "1")
    time.sleep(0.05)
    assert values == []
    master.set("q", "2")
    thread.join()
    assert values == [[b"1", b"2"]]


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


ALONE = """
import subprocess
from datetime import timedelta
import tl_distributed as dist
from pathlib import Path
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40003")
try:
    dist.TCPStore("127.0.0.1", 40002, timeout=timedelta(seconds=0.5))
except dist.DistNetworkError as error:
    print(error)
"""


def test_a_client_does_not_connect_to_itself():
    """The kernel may give it, as its own, the very port at which the server isn't there yet."""
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    if not (shutil.which("unshare") and shutil.which("ip")) or subprocess.run([*alone, "true"]).returncode:
        pytest.skip("needs a network of its own")
    process = subprocess.run(
        [*alone, sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60
    )
    assert "no server at 127.0.0.1:40002" in process.stdout and "Connection refused" in process.stdout, (
        process
    )


def test_garbage_ends_only_its_own_connection(master):
    request = b"\x00\xce\xf7\x85\x3c"
    for garbage in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 64,
        request + b"\xff" * 9,
        request + b"\x01" + b"\xff" * 20,
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


def test_queues(master):
    store = client(master)
    store.queue_push("q", "a")
    store.queue_push("q", b"b")
    assert master.queue_len("q") == 2 and master.queue_len("none") == 0
    assert [master.queue_pop("q"), master.queue_pop("q", block=False)] == [b"a", b"b"]
    with pytest.raises(dist.QueueEmptyError, match="queue is empty: q"):
        master.queue_pop("q", block=False)
    late = threading.Timer(0.05, store.queue_push, ("q", "late"))
    late.start()
    assert master.queue_pop("q") == b"late"
    late.join()
    store.set_timeout(timedelta(milliseconds=20))
    with pytest.raises(dist.DistStoreError, match="no value for q"):
        store.queue_pop("q")


def test_keys_barriers_and_connections_of_ones_own(master):
    store = client(master)
    store.multi_set(["a", "b"], ["1", "2"])
    assert sorted(store.list_keys()) == ["a", "b"]
    other = store.clone()
    thread = threading.Thread(target=other.barrier, args=("here", 2))
    thread.start()
    store.barrier("here", 2)
    thread.join()
    with pytest.raises(
        dist.DistStoreError, match=r"barrier timeout after 0\.02 s: not all of 2 came to there"
    ):
        store.barrier("there", 2, timedelta(milliseconds=20))
    assert store.get("a") == b"1"


def frame(*parts):
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def test_answers_have_the_bytes_of_the_reference(master):
    """What torch 2.13's client sends, and its server answers."""
    number = lambda n: n.to_bytes(8, "little", signed=True)  # noqa: E731
    spoken = [
        (b"\x00\xce\xf7\x85<\r\xe4s\x00\x00", b"\xe4s\x00\x00"),
        (b"\x01" + frame(b"/a", b"1"), b""),
        (b"\x06" + number(1) + frame(b"/a"), b"\x00"),
        (b"\x03" + frame(b"/a"), frame(b"1")),
        (b"\x0e" + frame(b"/q", b"x"), b""),
        (b"\x0e" + frame(b"/q", b"yy"), b""),
        (b"\x10" + frame(b"/q"), number(2)),
        (b"\x06" + number(1) + frame(b"/q"), b"\x00"),
        (b"\x0f" + frame(b"/q"), number(2) + frame(b"x")),
        (b"\x0f" + frame(b"/q"), number(1) + frame(b"yy")),
        (b"\x0f" + frame(b"/q"), number(0)),
        (b"\x10" + frame(b"/nope"), number(0)),
        (b"\x11", number(1) + frame(b"/a")),
        (b"\x05" + number(2) + frame(b"/a", b"/b"), b"\x01"),
        (b"\x06" + number(1) + frame(b"/no") + b"\x0c", b"\x01"),
        (b"\x08" + frame(b"/a"), number(1)),
        (b"\x04" + frame(b"/n") + number(5), number(5)),
        (b"\x07", number(1)),
        (b"\x12" + frame(b"/bb") + number(1), b"\x00"),
        (b"\x02" + frame(b"/zz", b"a", b"b"), frame(b"a")),
        (b"\x02" + frame(b"/zz", b"", b"b"), frame(b"b")),
        (b"\x09" + frame(b"/zz", b"q"), b""),
        (b"\x0b" + number(2) + frame(b"/m", b"1", b"/k", b"2"), b""),
        (b"\x0a" + number(3) + frame(b"/m", b"/k", b"/zz"), frame(b"1", b"2", b"bq")),
    ]
    with socket.create_connection(("localhost", master.port), timeout=5) as link:
        for question, answered in spoken:
            for i in range(len(question)):  # in the smallest pieces
                link.sendall(question[i : i + 1])
            answer = b""
            while len(answer) < len(answered):
                answer += link.recv(len(answered) - len(answer))
            assert answer == answered, question


def test_no_input_ends_the_server(master):
    process = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("store_fuzz.py")), "--count", "2000"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "2000 inputs" in process.stdout


def test_ctrl_c_ends_a_wait():
    program = (
        "import tl_distributed as dist, time\n"
        "store = dist.TCPStore('localhost', 0, is_master=True)\n"
        "try:\n    print('waits', flush=True)\n    store.get('never')\n"
        "except KeyboardInterrupt:\n    store.set('a', '1')\n    print('interrupted', store.get('a'))\n"
    )
    job = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None and job.stdout.readline() == "waits\n"
    time.sleep(0.1)
    began = time.monotonic()
    job.send_signal(signal.SIGINT)
    assert job.communicate(timeout=20)[0] == "interrupted b'1'\n"
    assert time.monotonic() - began < 1.5


def test_a_forked_child_has_no_store(master):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            master.set("a", "1")
        except dist.DistStoreError as error:
            status = 0 if "forked" in str(error) else 2
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert master.add("n", 1) == 1
