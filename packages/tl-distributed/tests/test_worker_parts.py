"""The parts of a machine's agent: descriptions of workers, their output, their errors, signals."""

from __future__ import annotations

import io
import json
import os
import signal

import pytest

from tl_distributed.elastic import metrics
from tl_distributed.elastic.agent.server.api import (
    ElasticAgent,
    RunResult,
    SimpleElasticAgent,
    Worker,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from tl_distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from tl_distributed.elastic.metrics.api import (
    ConsoleMetricHandler,
    MetricData,
    MetricsConfig,
    MetricStream,
    NullMetricHandler,
    getStream,
)
from tl_distributed.elastic.multiprocessing.api import (
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    SubprocessContext,
    signals_raise,
)
from tl_distributed.elastic.multiprocessing.errors.error_handler import ErrorHandler
from tl_distributed.elastic.multiprocessing.errors.handlers import get_error_handler
from tl_distributed.elastic.multiprocessing.redirects import redirect
from tl_distributed.elastic.multiprocessing.subprocess_handler import (
    SubprocessHandler,
    get_subprocess_handler,
)
from tl_distributed.elastic.multiprocessing.tail_log import TailLog
from tl_distributed.run import (
    determine_local_world_size,
    exit_status,
    get_args_parser,
    parse_min_max_nnodes,
)


def train():
    raise AssertionError


def test_the_workers_of_a_machine():
    spec = WorkerSpec("trainer", 3, None, fn=train)
    group = WorkerGroup(spec)
    assert spec.entrypoint is train and spec.get_entrypoint_name() == "train"
    assert [worker.local_rank for worker in group.workers] == [0, 1, 2]
    assert (group.state, group.store, group.group_rank) == (WorkerState.INIT, None, None)
    assert repr(Worker(1, 5, world_size=8)) == "Worker(local_rank=1, global_rank=5, world_size=8)"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"local_world_size": 0}, ValueError, "local_world_size must be positive, got 0"),
        ({"monitor_interval": 0.0}, ValueError, "monitor_interval must be positive"),
        ({"entrypoint": None}, ValueError, "entrypoint must be"),
    ],
)
def test_descriptions_of_workers_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        WorkerSpec(
            **{
                "role": "trainer",
                "local_world_size": 1,
                "rdzv_handler": None,
                "entrypoint": "a.py",
                **options,
            }
        )


def test_states_and_results_of_workers():
    running = {state for state in WorkerState if WorkerState.is_running(state)}
    assert running == {WorkerState.HEALTHY, WorkerState.UNHEALTHY}
    assert [RunResult(state).is_failed() for state in (WorkerState.FAILED, WorkerState.SUCCEEDED)] == [
        True,
        False,
    ]
    assert not RunProcsResult(return_values={0: 7}).is_failed()
    assert RunProcsResult(failures={1: object()}).is_failed()


def test_interfaces_have_no_instances_of_their_own():
    for kind, subclass in (
        (ElasticAgent, SimpleElasticAgent),
        (SimpleElasticAgent, LocalElasticAgent),
        (PContext, SubprocessContext),
        (PContext, MultiprocessContext),
        (LogsSpecs, None),
    ):
        assert subclass is None or issubclass(subclass, kind)
        with pytest.raises(TypeError, match="abstract"):
            kind()
    assert LogsDest() == LogsDest({}, {}, {}, {}, {}, "", "")


def test_a_signal_raises_within_the_block():
    before = signal.getsignal(signal.SIGHUP)
    with pytest.raises(SignalException, match="got signal") as caught, signals_raise():
        os.kill(os.getpid(), signal.SIGHUP)
    assert caught.value.sigval == signal.SIGHUP
    assert signal.getsignal(signal.SIGHUP) == before


def test_output_of_native_code_goes_to_a_file(tmp_path):
    file = tmp_path / "out"
    with redirect("stdout", str(file)):
        os.write(1, b"native\n")
    assert file.read_bytes() == b"native\n"
    with pytest.raises(ValueError, match="std must be stdout or stderr"), redirect("stdin", str(file)):
        pass


def test_lines_of_workers_have_a_prefix(tmp_path):
    file, target = tmp_path / "0.log", io.StringIO()
    file.write_text("first\nlast")
    log = TailLog("job", {0: str(file)}, target).start()
    log.stop()
    assert log.stopped()
    assert target.getvalue() == "[job0]:first\n[job0]:last\n"


def test_a_program_as_a_worker(tmp_path):
    out = tmp_path / "out"
    script = "echo $WORD; exit 3"
    worker = get_subprocess_handler("/bin/sh", ("-c", script), {"WORD": "hello"}, str(out), "", 4)
    assert worker.proc.wait() == 3 and out.read_text() == "hello\n" and worker.local_rank_id == 4
    sleeper = SubprocessHandler("/bin/sleep", (60,), {}, None, None, 0, None)
    sleeper.close()
    assert sleeper.proc.wait() == -signal.SIGTERM


def test_the_error_file_of_a_worker(tmp_path, monkeypatch):
    own, other = tmp_path / "own.json", tmp_path / "other.json"
    handler = get_error_handler()
    assert type(handler) is ErrorHandler
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(other))
    handler.record_exception(ValueError("no such file"))
    message = json.loads(other.read_text())["message"]
    assert message["message"] == "ValueError: no such file" and "py_callstack" in message["extraInfo"]
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(own))
    handler.dump_error_file(str(other), 9)
    assert json.loads(own.read_text())["message"] == {**message, "errorCode": 9}


def test_numbers_of_a_job(capsys):
    rows = []

    class Collect(metrics.MetricHandler):
        def emit(self, metric_data):
            rows.append(metric_data)

    MetricStream("job", Collect()).add_value("steps", 3)
    assert rows == [MetricData(rows[0].timestamp, "job", "steps", 3)]
    ConsoleMetricHandler().emit(MetricData(5, "job", "steps", 3))
    NullMetricHandler().emit(MetricData(6, "job", "steps", 4))
    assert capsys.readouterr().out == "[5][job]: steps=3\n"
    assert MetricsConfig().params == {} and MetricsConfig({"a": "b"}).params == {"a": "b"}
    metrics.configure(Collect(), "numbers of a job")
    getStream("numbers of a job").add_value("restarts", 1)
    assert rows[-1][1:] == ("numbers of a job", "restarts", 1)


def test_numbers_of_machines_and_workers():
    assert (parse_min_max_nnodes("2"), parse_min_max_nnodes("1:4")) == ((2, 2), (1, 4))
    assert determine_local_world_size("3") == 3
    assert determine_local_world_size("cpu") == len(os.sched_getaffinity(0))
    for function, text in ((parse_min_max_nnodes, "1:2:3"), (determine_local_world_size, "gpu")):
        with pytest.raises(ValueError, match=text):
            function(text)
    arguments = get_args_parser().parse_args(["--nproc_per_node", "2", "train.py", "--lr", "1"])
    assert (arguments.nproc_per_node, arguments.training_script_args) == ("2", ["--lr", "1"])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, 0),
        (ValueError("x"), 2),
        (ModuleNotFoundError("x"), 1),
        (SignalException("x", signal.SIGTERM), 143),
    ],
)
def test_exit_statuses(error, status, capsys):
    def main():
        if error is not None:
            raise error

    assert exit_status(main) == status
    assert capsys.readouterr().err.endswith("" if error is None else "x\n")
