"""Steps, packed columns and the ranking of events: numbers that a reader can check by hand."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
import types

import pytest

import tl_core as tl
from tl_autograd.profiler import KinetoStepTracker
from tl_autograd.profiler_results import ProfilerResult
from tl_core.base import recording
from tl_profiler import ExecutionTraceObserver, profile, report, schedule
from tl_profiler.__main__ import profile_program
from tl_profiler._utils import BasicEvaluation, EventKey, EventMetrics, Interval
from tl_profiler.report import events as page_events

# ---- steps


@pytest.mark.filterwarnings("ignore:.*warm")
def test_each_step_is_a_trace_of_its_own():
    names = []

    def ready(prof):
        names.append([e.name for e in prof.events() if e.name in ("aten::sin", "aten::cos")])

    with profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=2), on_trace_ready=ready) as prof:
        tl.ones(1).sin()
        prof.step()
        tl.ones(1).cos()
        prof.step()
    assert names == [["aten::sin"], ["aten::cos"]]


def test_steps_are_counted():
    with profile(schedule=schedule(wait=0, warmup=1, active=4)) as prof:
        before = KinetoStepTracker.current_step()
        for _ in range(3):
            prof.step()
        assert KinetoStepTracker.current_step() == before + 3 and prof.step_num == 3
        assert prof.step_rec_fn is not None
    assert prof.step_rec_fn is None
    steps = [e.name for e in prof.events() if e.name.startswith("ProfilerStep#")]
    assert steps == [f"ProfilerStep#{n}" for n in range(1, 4)]


def test_calls_of_all_shapes_are_one_row():
    with profile(record_shapes=True) as prof:
        tl.ones(2).sin()
        tl.ones(3).sin()
    counts = [e.count for e in prof.key_averages() if e.key == "aten::sin"]
    assert counts == [2]
    assert [e.count for e in prof.key_averages(True) if e.key == "aten::sin"] == [1, 1]


def test_a_trace_of_one_process_names_no_ranks(tmp_path):
    with profile() as prof:
        tl.ones(1)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "distributedInfo" not in json.loads((tmp_path / "trace.json").read_text())


@pytest.mark.parametrize("is_initialized", [False, True])
def test_a_trace_names_the_rank_of_its_process(tmp_path, monkeypatch, is_initialized):
    group = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: is_initialized, get_backend=lambda: "gloo",
        get_rank=lambda: 3, get_world_size=lambda: 8,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "tl_distributed", group)
    with profile() as prof:
        tl.ones(1)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    expected = {"backend": "gloo", "rank": 3, "world_size": 8} if is_initialized else None
    assert trace.get("distributedInfo") == expected


def test_an_observer_of_the_environment_leaves_no_file_open(monkeypatch):
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    before = len(os.listdir("/proc/self/fd"))
    observer = ExecutionTraceObserver.from_environment()
    assert len(os.listdir("/proc/self/fd")) == before
    path = observer.get_output_file_path()
    observer.unregister_callback()
    os.unlink(path)
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "0")
    assert ExecutionTraceObserver.from_environment() is None


# ---- columns of a page


def unzigzag(n):
    return n >> 1 if n % 2 == 0 else -(n + 1 >> 1)


def test_signed_numbers_in_zigzag_order():
    numbers = [0, -1, 1, -2, 2, -(1 << 40)]
    assert page_events.zigzag(numbers) == [0, 1, 2, 3, 4, (1 << 41) - 1]
    assert [unzigzag(n) for n in page_events.zigzag(numbers)] == numbers


def test_columns_come_back():
    columns = {
        "start": [1.5, 7.0, 2.25], "duration": [0.0, 0.0014, -3.0], "bytes": [-4096, 0, 12],
        "address": [70, 9, 70], "parent": [-1, 0, 0], "name": [3, 2, 1], "stack": [0, 1, 2], "thread": [0, 0, 1],
        "kind": [1, 2, 300],
    }  # fmt: skip
    layout, body = page_events.pack(columns)
    values, offset = {}, 0
    for name, width, coding in layout:
        planes = body[offset : offset + 3 * width]
        read = [sum(planes[3 * k + i] << 8 * k for k in range(width)) for i in range(3)]
        values[name] = read if coding == "plain" else [unzigzag(n) for n in read]
        offset += 3 * width
    assert offset == len(body)
    starts = [sum(values["start"][: i + 1]) for i in range(3)]
    assert starts == [1500, 7000, 2250] and values["duration"] == [0, 1, 0]
    assert values["bytes"] == columns["bytes"] and values["address"] == [0, 1, 0]
    assert [i - d for i, d in enumerate(values["parent"])] == columns["parent"]
    assert {name: values[name] for name in ("name", "stack", "thread", "kind")} == {
        name: columns[name] for name in ("name", "stack", "thread", "kind")
    }


# ---- the ranking of events


def evaluation(depths, events):
    """An evaluation with depths of a queue, one each ten nanoseconds, and events (start, end, own time, idle time)."""
    result = BasicEvaluation.__new__(BasicEvaluation)
    result.queue_depth_list = [Interval(10 * i, 10 * i + 10, depth) for i, depth in enumerate(depths)]
    result.metrics = {}
    for number, (start, end, own, idle) in enumerate(events):
        event = types.SimpleNamespace(id=number, name=f"e{number}", start_time_ns=start, end_time_ns=end)
        result.metrics[EventKey(event)] = EventMetrics(end - start, own, idle)
    result.events = [key.event for key in result.metrics]
    return result


def ranking(depths, events, length=9):
    return [key.event.id for key in evaluation(depths, events).rank_events(length)]


def test_events_before_an_empty_queue_come_first():
    # the queue has four kernels at 10 and none at 40: events between 10 and 40 let it fall
    depths = [1, 4, 3, 1, 0, 2]
    events = [(0, 9, 5, 0), (12, 20, 30, 4), (20, 38, 5, 9), (51, 60, 99, 9)]
    assert ranking(depths, events) == [1, 2]
    assert ranking(depths, events, 1) == [1]
    # without four waiting kernels nothing falls
    assert ranking([1, 3, 3, 1, 0, 2], events) == []
    assert ranking([4, 4, 4], events) == []


def test_each_fall_of_the_queue_counts():
    depths = [4, 0, 5, 0, 6, 0]
    events = [(2, 8, 10, 0), (22, 28, 30, 0), (42, 48, 20, 0)]
    assert ranking(depths, events) == [1, 2, 0]


def test_idle_time_counts_by_its_fraction():
    # own times 10, 20, 30 and idle fractions 1, 0, 0: z-scores by hand
    events = [(20, 30, 10, 10), (22, 32, 20, 0), (24, 34, 30, 0)]
    own = [(x - 20) / math.sqrt(200 / 3) for x in (10, 20, 30)]
    idle = [(x - 1 / 3) / math.sqrt(2 / 9) for x in (1, 0, 0)]
    scores = [a + 0.6 * b for a, b in zip(own, idle, strict=True)]
    expected = sorted(range(3), key=lambda i: -scores[i])
    assert ranking([4, 4, 4, 0], events) == expected == [2, 0, 1]


def test_the_accelerator_idles_between_its_kernels():
    state = evaluation([2, 0, 0, 1, 0], [(0, 60, 0, 0), (15, 25, 0, 0), (28, 30, 0, 0), (58, 62, 0, 0)])
    state.compute_idle_time()
    # idle from the end of the first empty interval, 20, to the next kernel, 30, and from 50 to the last event's end
    assert [m.idle_time_ns for m in state.metrics.values()] == [20, 5, 2, 4]
    assert (
        EventMetrics(0, 0, 5).fraction_idle_time == 0.0 and EventMetrics(10, 0, 5).fraction_idle_time == 0.5
    )


# ---- the command


def test_the_command_returns_the_status_of_its_program(tmp_path, capsys):
    program = tmp_path / "ends.py"
    program.write_text("import sys\nsys.exit(int(sys.argv[1]))\n")
    for status in (0, 3):
        arguments = ["--no-python", "--trace", str(tmp_path / "trace.json"), str(program), str(status)]
        assert profile_program(arguments, "tl profile") == status
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert profile_program(["--sort", "nothing", str(program)], "tl profile") == 2
    assert "--sort needs a column such as cpu_time_total or count, got 'nothing'" in capsys.readouterr().err
    assert profile_program(["--rows", "-1", str(program)], "tl profile") == 2
    assert "--rows needs a number from 0 on, got -1" in capsys.readouterr().err
    assert profile_program(["--table", "--rows", "0", str(program), "0"], "tl profile") == 0
    for sort in ("cpu_time_total", "cuda_time_total", "count"):
        assert profile_program(["--table", "--sort", sort, str(program), "0"], "tl profile") == 0


@pytest.mark.parametrize("name", ["_memory_profiler", "_utils", "execution_trace", "report"])
def test_modules_are_imported_when_they_are_named(name):
    code = f"import tl_profiler; print(tl_profiler.{name}.__name__, hasattr(tl_profiler, 'no_such_module'))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.split() == [f"tl_profiler.{name}", "False"], result.stderr


def test_a_page_states_how_many_events_were_not_kept():
    recording.start(most_bytes=1)  # the least room of a thread, 512 KB
    x = tl.ones(2)
    for _ in range(20_000):
        x.sin()
    result = ProfilerResult(recording.stop())
    notes = re.findall(r"(\d+) older events were not kept", report.render(result))
    assert notes == [str(result.forgotten)] and result.forgotten > 1000
    with profile() as prof:
        x.sin()
    assert "not kept" not in report.render(prof)


def test_the_duration_of_a_page_is_that_of_the_profile():
    begin = time.perf_counter()
    with profile() as prof:
        tl.ones(2).sin()
        time.sleep(0.01)
    elapsed = time.perf_counter() - begin
    duration = float(re.search(r'duration_us": ([\d.]+)', report.render(prof))[1])
    assert 10_000 <= duration <= 1e6 * elapsed
