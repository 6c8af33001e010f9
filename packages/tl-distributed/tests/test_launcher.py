"""The launcher: jobs that end well, that are started again, that fail, and where output goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tl_distributed import run
from tl_distributed.elastic.multiprocessing import DefaultLogsSpecs, Std, start_processes
from tl_distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, record
from tl_distributed.elastic.rendezvous import RendezvousParameters, get_rendezvous_handler
from tl_distributed.launcher import LaunchConfig, elastic_launch

WORKER = """
import os, signal, sys
import tl_core as tl, tl_distributed as dist
dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), os.environ["TORCHELASTIC_RESTART_COUNT"]
if "die" in sys.argv and rank == 1 and attempt == "0":
    os.kill(os.getpid(), signal.SIGKILL)
total = tl.tensor([rank + 1.0])
dist.all_reduce(total)
sys.stdout.write(f"rank {rank} of {dist.get_world_size()} attempt {attempt} total {float(total)}" + os.linesep)
dist.destroy_process_group()
"""


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return str(path)


def launch(*args, **more):
    command = [sys.executable, "-m", "tl_distributed.run", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


def test_killed_worker_is_named_and_the_job_starts_again(worker):
    process = launch("--standalone", "--nproc-per-node", "2", "--max-restarts", "1", worker, "die")
    assert process.returncode == 0, process.stderr
    assert "failed: SIGKILL" in process.stderr and "restart 1 of 1" in process.stderr
    lines = sorted(line for line in process.stdout.splitlines() if line)
    assert lines == [f"rank {rank} of 2 attempt 1 total 3.0" for rank in range(2)]


def test_no_restarts_left(worker):
    process = launch("--standalone", "--nproc-per-node", "2", worker, "die")
    assert process.returncode == 1
    assert f"{worker} FAILED" in process.stderr
    assert "rank      : 1 (local_rank: 1)" in process.stderr and "-9 (SIGKILL)" in process.stderr


def ending(agent, seconds=60):
    """What an agent said; one that does not end says where it stands."""
    try:
        return agent.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        agent.send_signal(signal.SIGABRT)
        return agent.communicate()[1]


def test_two_agents_and_files(worker, tmp_path):
    common = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{free_port()}"]
    common += ["--log-dir", str(tmp_path / "logs"), "-r", "3", "--max-restarts", "1"]
    command = [sys.executable, "-m", "tl_distributed.run", *common, worker, "die"]
    env = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    agents = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) for _ in range(2)]
    errors = [ending(agent) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], errors
    text = "".join(path.read_text() for path in (tmp_path / "logs").glob("none_*/attempt_1/0/stdout.log"))
    assert sorted(text.splitlines()) == [f"rank {rank} of 2 attempt 1 total 3.0" for rank in range(2)]


def test_an_agent_that_joins_is_no_failure(tmp_path):
    program = tmp_path / "worker.py"
    program.write_text(
        "import os, time\n"
        "size = os.environ['WORLD_SIZE']\n"
        "open(os.environ['MARK'], 'a').write(size)\n"
        "time.sleep(0 if size == '2' else 60)\n"
    )
    mark = tmp_path / "mark"
    options = ["--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{free_port()}"]
    options += ["--rdzv-conf", "last_call_timeout=0.3"]  # and no restarts
    command = [sys.executable, "-m", "tl_distributed.run", *options, str(program)]
    agents = [subprocess.Popen(command, env={**os.environ, "MARK": str(mark)})]
    end = time.monotonic() + 30
    while not mark.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    agents.append(subprocess.Popen(command, env={**os.environ, "MARK": str(mark)}))
    assert [agent.wait(60) for agent in agents] == [0, 0]
    assert mark.read_text() == "122"


def test_signal_to_the_agent_ends_its_workers(tmp_path):
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(60)"
    command = [sys.executable, "-m", "tl_distributed.run", "--standalone", "--no-python", sys.executable]
    agent = subprocess.Popen([*command, "-c", code], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not (mark.exists() and mark.read_text().endswith(".")):
        assert time.monotonic() < end
        time.sleep(0.01)
    agent.send_signal(signal.SIGTERM)
    _, errors = agent.communicate(timeout=30)
    assert agent.returncode == 128 + signal.SIGTERM and "signal 15" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()[:-1]), 0)


def double(value):
    return value * 2 + int(os.environ["RANK"])


def fail():
    raise OSError("no disk")


def config(workers):
    return LaunchConfig(
        1,
        1,
        workers,
        rdzv_endpoint="localhost:0",
        rdzv_configs={"is_host": True},
        max_restarts=0,
        start_method="fork",
    )


def test_functions_return_values():
    assert elastic_launch(config(2), double)(5) == {0: 10, 1: 11}
    assert elastic_launch(config(1), bytes)(3_000_000) == {0: bytes(3_000_000)}


def test_the_exception_of_a_function_is_told():
    with pytest.raises(ChildFailedError, match="OSError: no disk") as caught:
        elastic_launch(config(1), fail)()
    rank, failure = caught.value.get_first_failure()
    assert rank == 0 and failure.exitcode == 1
    assert failure.message["message"] == "OSError: no disk"


def test_start_processes_ends_the_others(tmp_path):
    logs = DefaultLogsSpecs(str(tmp_path), redirects={0: Std.OUT})
    context = start_processes(
        "shell", "/bin/sh", {0: ("-c", "echo yes; exit 3"), 1: ("-c", "exec sleep 60")}, {0: {}, 1: {}}, logs
    )
    start = time.monotonic()
    result = context.wait()
    assert result is not None and time.monotonic() - start < 20
    assert result.is_failed() and set(result.failures) == {0} and result.failures[0].exitcode == 3
    assert Path(result.stdouts[0]).read_text() == "yes\n" and result.stdouts[1] == ""
    with pytest.raises(RuntimeError, match="local ranks 0, 1"):
        start_processes("shell", "/bin/true", {1: ()}, {1: {}}, logs)


def test_record_writes_the_error_file(tmp_path, monkeypatch):
    file = tmp_path / "deep" / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(file))
    with pytest.raises(OSError, match="no disk"):
        record(fail)()
    failure = ProcessFailure(0, 1, 1, str(file))
    assert failure.message["message"] == "OSError: no disk" and failure.timestamp > 0
    file.write_text("{broken")
    assert "can't be read" in ProcessFailure(0, 1, 1, str(file)).message


def test_command_lines(monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    parsed = run.parse_args(["--nnodes=1:4", "--rdzv_backend", "c10d", "-m", "pkg.train", "--lr", "1"])
    job, program, arguments = run.config_from_args(parsed)
    assert (job.min_nodes, job.max_nodes, job.nproc_per_node, program) == (1, 4, 3, sys.executable)
    assert arguments == ["-u", "-m", "pkg.train", "--lr", "1"]
    for bad, text in [
        (["--nnodes", "x", "a"], "--nnodes"),
        (["--nproc-per-node", "0", "a"], "--nproc-per-node"),
        (["--rdzv-conf", "x", "a"], "--rdzv-conf"),
        (["-r", "9:x", "a"], "streams"),
        (["--no-python", "-m", "a"], "exclude"),
    ]:
        with pytest.raises(ValueError, match=text):
            run.config_from_args(run.parse_args(bad))


def test_further_options(tmp_path):
    program = tmp_path / "show.py"
    program.write_text(
        "import os, sys\n"
        "line = f\"{__name__} {sys.argv[1:]} {os.environ['LOCAL_RANK']}\\n\"\n"
        "os.write(1, line.encode())  # whole, beside the line of the other rank\n"
    )
    options = ["--standalone", "--run-path", "--virtual-local-rank", "--nproc-per-node", "2"]
    process = launch(
        *options, "--event-log-handler", "console", "--shutdown-timeout", "5", str(program), "--lr", "1"
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == ["__main__ ['--lr', '1'] 0"] * 2
    assert '"state": "SUCCEEDED"' in process.stderr


def test_options_that_make_no_sense():
    for options, text in [
        (["--signals-to-handle", "SIGNONE"], "'SIGNONE' is no signal"),
        (["--event-log-handler", "pigeon"], "no event handler 'pigeon'"),
        (["--logs-specs", "none_such"], "no package declares this entry point"),
        (["--numa-binding", "node"], "--numa-binding is not there yet"),
    ]:
        process = launch("--standalone", *options, "program.py")
        assert process.returncode == 2 and text in process.stderr, process.stderr


def test_a_signal_of_the_schedulers_choice_ends_the_job(tmp_path):
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid()) + '.'); time.sleep(60)"
    options = ["--standalone", "--signals-to-handle", "SIGTERM,SIGUSR1", "--no-python", sys.executable]
    command = [sys.executable, "-m", "tl_distributed.run", *options, "-c", code]
    agent = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not (mark.exists() and mark.read_text().endswith(".")):
        assert time.monotonic() < end
        time.sleep(0.01)
    agent.send_signal(signal.SIGUSR1)
    _, errors = agent.communicate(timeout=30)
    assert agent.returncode == 128 + signal.SIGUSR1, errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()[:-1]), 0)


def test_unknown_and_impossible_rendezvous():
    with pytest.raises(
        ValueError, match="no rendezvous backend 'pigeon'; known: c10d, etcd, etcd-v2, static"
    ):
        get_rendezvous_handler(RendezvousParameters("pigeon", "", "job", 1, 1))
    with pytest.raises(ValueError, match="min_nodes"):
        RendezvousParameters("static", "", "job", 2, 1)
    with pytest.raises(ValueError, match="host:port"):
        get_rendezvous_handler(RendezvousParameters("static", "host:port", "job", 1, 1, rank=0))


def free_port():
    from tl_distributed.elastic.rendezvous.api import free_port as free

    return free()
