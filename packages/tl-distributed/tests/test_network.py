"""Ranks in network namespaces: hosts of their own, a cut network, a slow one."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.backends.network import _HELLO

PROGRAM = Path(__file__).with_name("rank_program.py")
ADDRESSES = ("10.213.7.1", "10.213.7.2")


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def hosts():
    """Two namespaces with an interface each, `tl0` and `tl1`, that are connected."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and `ip`")
    names = [f"tl-{os.getpid()}-{i}" for i in range(2)]
    processes = []
    try:
        for name in names:
            run("ip", "netns", "add", name)
            processes.append(name)
        run(
            *("ip", "link", "add", "tl0", "netns", names[0]),
            *("type", "veth", "peer", "name", "tl1", "netns", names[1]),
        )
        for i, name in enumerate(names):
            inside = ["ip", "-n", name]
            run(*inside, "addr", "add", f"{ADDRESSES[i]}/24", "dev", f"tl{i}")
            run(*inside, "link", "set", f"tl{i}", "up")
            run(*inside, "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        for name in processes:
            run("ip", "netns", "del", name)
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    yield names
    for name in names:
        run("ip", "netns", "del", name)


@pytest.fixture
def job(hosts, tmp_path):
    """`job(action, timeout)` starts a rank in each namespace."""
    started = []

    def start(action: str, timeout: float) -> list[subprocess.Popen[str]]:
        for rank, name in enumerate(hosts):
            command = ["ip", "netns", "exec", name, sys.executable, str(PROGRAM), str(tmp_path / "store")]
            process = subprocess.Popen(
                [*command, str(rank), "2", action, str(timeout)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "GLOO_SOCKET_IFNAME": f"tl{rank}"},
            )
            started.append(process)
        for process in started:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready"), line + process.stdout.read()
        return started

    yield start
    for process in started:
        process.kill()
        process.communicate()


def outcome(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    timer = threading.Timer(30, process.kill)
    timer.start()
    output = process.stdout.read()
    timer.cancel()
    return output


def test_a_killed_rank_on_another_host_is_named(job):
    first, second = job("small", 20)
    time.sleep(0.2)
    killed = time.time()
    second.kill()
    output = outcome(first)
    match = re.match(r"([\d.]+) [\d.]+ DistBackendError: (.*)", output)
    assert match and re.search(rf"rank 1 \(pid {second.pid} on {socket.gethostname()}\) died", match[2]), (
        output
    )
    assert float(match[1]) - killed < 1.5


def test_a_cut_network_raises_when_the_time_is_over(job, hosts):
    ranks = job("small", 2)
    run("ip", "-n", hosts[1], "link", "set", "tl1", "down")
    for rank, process in enumerate(ranks):
        output = outcome(process)
        assert re.search(rf"timeout of 2 s in all_reduce.*for rank {1 - rank} \(", output), output


def test_a_slow_network_is_only_slow(job, hosts):
    if not shutil.which("tc"):
        pytest.skip("needs `tc`")
    slow = ["tc", "-n", hosts[0], "qdisc", "add", "dev", "tl0", "root", "tbf"]
    if subprocess.run(
        [*slow, "rate", "100mbit", "burst", "64kb", "latency", "50ms"], capture_output=True
    ).returncode:
        pytest.skip("no token bucket filter here")
    first, second = job("once", 20)
    for process in (first, second):
        output = outcome(process)
        assert re.search(r"took ([\d.]+) s", output), output
        assert 0.15 < float(re.search(r"took ([\d.]+) s", output)[1]) < 15  # 4 MB at 100 Mbit/s


def test_strangers_at_a_ranks_port_are_sent_away(ranks, transport, monkeypatch):
    """Garbage and a wrong token come before the other rank does."""
    if transport == "memory":
        pytest.skip("no port is open")
    create = socket.create_server

    def with_strangers(*arguments, **more):
        server = create(*arguments, **more)
        for words in (b"GET / HTTP/1.1\r\n\r\n" + b" " * 40, _HELLO.pack(1, 0, b"x" * 32)):
            stranger = socket.create_connection(server.getsockname(), timeout=5)
            stranger.sendall(words)
            strangers.append(stranger)
        return server

    strangers: list[socket.socket] = []
    monkeypatch.setattr(socket, "create_server", with_strangers)

    def body(rank):
        tensor = tl.ones(3)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [2.0] * 3

    ranks(2, body)
    for stranger in strangers:
        stranger.settimeout(5)
        with stranger:
            assert _ends(stranger)


def _ends(link: socket.socket) -> bool:
    try:
        return link.recv(1) == b""
    except ConnectionResetError:
        return True


def test_an_interface_that_is_not_there(ranks, transport, monkeypatch):
    if transport == "memory":
        pytest.skip("no interface is needed")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nowhere0")
    with pytest.raises(dist.DistBackendError, match="GLOO_SOCKET_IFNAME=nowhere0: no such address"):
        ranks(2, lambda rank: None)


def test_a_transport_of_another_name_is_refused(ranks, monkeypatch):
    monkeypatch.setenv("TL_DISTRIBUTED_TRANSPORT", "udp")
    with pytest.raises(ValueError, match="TL_DISTRIBUTED_TRANSPORT must be tcp, ucx or nothing, got 'udp'"):
        ranks(2, lambda rank: None)
