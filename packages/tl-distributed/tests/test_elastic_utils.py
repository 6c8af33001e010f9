"""What agents and launchers share: timers through a pipe, questions to workers, values in stores, options."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

import tl_distributed as dist
from tl_distributed import launch
from tl_distributed.base.remote_device import _remote_device
from tl_distributed.elastic import control_plane
from tl_distributed.elastic.timer import (
    FileTimerClient,
    FileTimerRequest,
    FileTimerServer,
    configure,
    expires,
)
from tl_distributed.elastic.timer.debug_info_logging import log_debug_info_for_expired_timers
from tl_distributed.elastic.utils import get_env_variable_or_raise, get_socket_with_port, macros
from tl_distributed.elastic.utils.distributed import create_c10d_store, get_free_port
from tl_distributed.elastic.utils.log_level import get_log_level
from tl_distributed.elastic.utils.logging import get_logger
from tl_distributed.elastic.utils.store import barrier, get_all, synchronize
from tl_distributed.launcher.argparse_util import check_env, env


def test_a_worker_that_is_late_gets_its_signal(tmp_path):
    pipe, messages = str(tmp_path / "timers"), []
    server = FileTimerServer(
        pipe, "job", max_interval=0.05, log_event=lambda name, request: messages.append((name, request))
    )
    with pytest.raises(BrokenPipeError, match="FileTimerServer must be started first"):
        FileTimerClient(pipe).acquire("step", 1.0)
    server.start()
    code = (
        "import sys, time, signal\n"
        "from tl_distributed.elastic.timer import FileTimerClient, configure, expires\n"
        "configure(FileTimerClient(sys.argv[1], signal.SIGTERM))\n"
        "with expires(60):\n    pass\n"
        "with expires(0.05, 'slow step'):\n    time.sleep(60)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code, pipe])
    assert worker.wait(60) == -signal.SIGTERM
    server.stop()
    assert [name for name, _ in messages] == ["watchdog started", "kill worker process", "watchdog stopped"]
    assert messages[1][1].scope_id == "slow step" and messages[1][1].worker_pid == worker.pid
    assert not os.path.exists(pipe) and server.get_last_progress_time() > 0


def test_a_wish_that_is_taken_back(tmp_path):
    pipe = str(tmp_path / "timers")
    server = FileTimerServer(pipe, "job", max_interval=0.02)
    server.start()
    client = FileTimerClient(pipe)
    configure(client)
    with expires(0.1):
        pass
    time.sleep(0.3)  # this process is still there
    with pytest.raises(ValueError, match="scope's name is too long"):
        client.acquire("s" * 5000, 1.0)
    server.stop()
    assert not server.get_expired_timers(time.time() + 10)


def test_wishes_of_workers_that_have_ended_are_dropped(tmp_path):
    server = FileTimerServer(str(tmp_path / "timers"), "job")
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    server.register_timers([FileTimerRequest(process.pid, "a", 1.0), FileTimerRequest(os.getpid(), "b", 1.0)])
    assert list(server.get_expired_timers(2.0)) == [os.getpid()]


def test_what_is_logged_of_late_workers(caplog):
    caplog.set_level("INFO")
    log_debug_info_for_expired_timers("job", {71: ["step"]})
    assert "worker 71 is late in step" in caplog.text


def ask(path, line):
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        link.sendall(f"{line} HTTP/1.0\r\nContent-Length: 0\r\n\r\n".encode())
        data = b""
        while more := link.recv(1 << 16):
            data += more
    head, _, body = data.decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_questions_to_a_worker(tmp_path, monkeypatch):
    with control_plane.worker_main():
        pass  # nobody asks
    path = str(tmp_path / "socket")
    monkeypatch.setenv("TORCH_WORKER_SERVER_SOCKET", path)
    for _ in range(2):  # the second takes the first one's place
        with control_plane.worker_main():
            status, body = ask(path, "GET /handler/")
            assert status == 200 and {"ping", "stacks", "flight_recorder"} <= set(json.loads(body))
            assert ask(path, "POST /handler/ping") == (200, f"pid {os.getpid()}\n")
            status, body = ask(path, "POST /handler/stacks")
            assert status == 200 and "test_questions_to_a_worker" in body
            status, body = ask(path, "POST /handler/flight_recorder")
            assert status == 200 and isinstance(json.loads(body), list)
            assert ask(path, "POST /handler/nothing")[0] == 404 and ask(path, "GET /")[0] == 404
        assert not os.path.exists(path)
    with pytest.raises(ValueError, match="already registered"):
        control_plane.register_handler("ping", str)


def test_a_handler_that_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_WORKER_SERVER_SOCKET", str(tmp_path / "socket"))
    monkeypatch.setitem(control_plane._handlers, "fail", lambda: 1 // 0)
    with control_plane.worker_main():
        assert ask(str(tmp_path / "socket"), "POST /handler/fail") == (
            500,
            "fail: ZeroDivisionError: integer division or modulo by zero\n",
        )


def on_threads(size, body):
    results = [None] * size

    def call(rank):
        try:
            results[rank] = body(rank)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=call, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_values_of_all_ranks():
    store = dist.HashStore()
    result = on_threads(3, lambda rank: synchronize(store, bytes([rank]), rank, 3, "names"))
    assert result == [[b"\0", b"\1", b"\2"]] * 3
    assert store.timeout == dist.HashStore().timeout
    store.set("one0", "a")
    assert get_all(store, 0, "one", 1) == [b"a"]


def test_a_barrier_names_who_is_missing():
    store = dist.HashStore()
    assert on_threads(3, lambda rank: barrier(store, 3, "all", rank=rank)) == [None] * 3
    errors = on_threads(2, lambda rank: barrier(store, 3, "some", 0.2, rank, lambda r: f"host{r}", 1))
    assert all(isinstance(e, dist.DistStoreError) and "ranks host2 did not come" in str(e) for e in errors)
    with pytest.raises(dist.DistStoreError, match="wait timeout"):
        barrier(store, 2, "alone", 0.05)


def test_stores_of_agents():
    store = create_c10d_store(True, "localhost")
    other = create_c10d_store(False, "localhost", store.port, timeout=5)
    other.set("key", "value")
    assert store.get("key") == b"value" and store.timeout == timedelta(seconds=600)
    with pytest.raises(ValueError, match="server_port"):
        create_c10d_store(False, "localhost", world_size=2)
    with pytest.raises(dist.DistNetworkError):
        create_c10d_store(True, "localhost", store.port, timeout=1)
    assert get_free_port() != store.port


def test_variables_ports_and_levels(monkeypatch):
    monkeypatch.setenv("TL_SOMETHING", "3")
    assert get_env_variable_or_raise("TL_SOMETHING") == "3"
    with pytest.raises(ValueError, match="TL_NOTHING expected"):
        get_env_variable_or_raise("TL_NOTHING")
    with get_socket_with_port() as server, pytest.raises(OSError), socket.socket() as other:
        other.bind(server.getsockname())
    monkeypatch.setenv("LOGLEVEL", "info")
    assert get_log_level() == "INFO" and get_logger().name == __name__ and get_logger("a").level == 20
    assert macros.substitute(["${local_rank}", 3, "$other"], "1") == ["1", 3, "$other"]


def test_options_by_variables(monkeypatch):
    def parse_arguments(*args):
        parser = argparse.ArgumentParser()
        parser.add_argument("-n", "--node-rank", action=env, type=int, default=0)
        parser.add_argument("--job-id", action=env, required=True)
        parser.add_argument("--verbose", action=check_env)
        return parser.parse_args(args)

    result = parse_arguments("--job-id", "a")
    assert (result.node_rank, result.job_id, result.verbose) == (0, "a", False)
    for name, value in {"NODE_RANK": "3", "JOB_ID": "b", "VERBOSE": "1"}.items():
        monkeypatch.setenv("PET_" + name, value)
    result = parse_arguments()
    assert (result.node_rank, result.job_id, result.verbose) == (3, "b", True)
    assert parse_arguments("-n", "4").node_rank == 4
    monkeypatch.setenv("PET_VERBOSE", "0")
    assert not parse_arguments().verbose


def test_the_older_launcher(tmp_path):
    program = tmp_path / "worker.py"
    program.write_text(
        "import os, sys; os.write(1, f\"{os.environ['LOCAL_RANK']} {sys.argv[1]}\\n\".encode())"
    )
    command = [
        sys.executable,
        "-m",
        "tl_distributed.launch",
        "--standalone",
        "--nproc-per-node=2",
        "--use-env",
    ]
    process = subprocess.run(
        [*command, str(program), "--lr"], capture_output=True, text=True, timeout=200, check=True
    )
    assert sorted(process.stdout.splitlines()) == ["0 --lr", "1 --lr"]
    del command[-1]
    process = subprocess.run(
        [*command, str(program)], capture_output=True, text=True, timeout=200, check=True
    )
    assert sorted(process.stdout.splitlines()) == ["0 --local-rank=0", "1 --local-rank=1"]
    assert launch.parse_args(["a", "b"]).training_script_args == ["--local-rank=${local_rank}", "b"]


def test_devices_of_other_processes():
    there = _remote_device("trainer0/cpu")
    assert (there.worker_name(), there.rank(), str(there.device())) == ("trainer0", None, "cpu")
    assert there == _remote_device("trainer0") and hash(there) == hash(_remote_device("trainer0"))
    assert repr(_remote_device("rank:2/cpu")) == "rank:2/cpu" and _remote_device("rank:2/cpu") != there
    assert _remote_device("cpu").worker_name() is None and repr(_remote_device("cpu")) == "cpu"
    for bad in ("trainer0/cpu/0", "/cpu", "trainer0/pigeon", "rank:x/cpu", "trainer0/"):
        with pytest.raises(ValueError, match="Could not parse remote_device"):
            _remote_device(bad)
    with pytest.raises(TypeError, match="expected a str"):
        _remote_device(3)
