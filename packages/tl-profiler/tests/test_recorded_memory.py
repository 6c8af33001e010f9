"""Memory by category and execution traces of events that are written by hand."""

import json
from types import SimpleNamespace

import pytest

import tl_core
from tl_autograd.recorded_event import Kind, RecordedEvent
from tl_profiler import ExecutionTraceObserver, memory_page
from tl_profiler._memory_profiler import Action, Category, MemoryProfile, MemoryProfileTimeline


def recorded(kind, name, start, end, number=0, parent=-1, values=None, what=0, overload="", thread=1):
    return RecordedEvent(kind, name, overload, start, end, thread, 1, number, 0, parent, values, what, 0, 0)


def tensor(memory, *sizes, dtype=tl_core.float32):
    strides = tuple(tl_core.empty(sizes).stride())
    return ("tensor", memory + 7, memory, dtype, tl_core.device("cpu"), 0, sizes, strides)


def memory(address, size, at, parent=-1):
    return recorded(Kind.MEMORY, "[memory]", at, at, size, parent, None, address)


INDICES = tensor(200, 3, dtype=tl_core.int64)


@pytest.fixture
def profiled():
    """A step of a program: times are in microseconds times 1000."""
    events = [
        recorded(Kind.OPERATOR, "aten::mm", 9_000, 12_000, values=(tensor(100, 2, 2), [INDICES])),
        memory(300, 64, 10_000, 0),
        memory(400, 32, 20_000),
        recorded(Kind.OPERATOR, "aten::add_", 24_000, 25_000, values=(tensor(400, 8), tensor(300, 16))),
        recorded(Kind.OPERATOR, "aten::__and__", 26_000, 27_000, values=(tensor(300, 16),)),
        memory(400, -32, 30_000),
        recorded(Kind.NODE, "MmBackward0", 50_000, 64_000, values=(None, tensor(0, 2))),
        memory(500, 8, 60_000, 6),
        recorded(Kind.OPERATOR, "aten::mm", 61_000, 62_000, parent=6, values=(tensor(300, 16),)),
        memory(600, 16, 63_000, 6),
        recorded(Kind.NODE, "torch::autograd::AccumulateGrad", 65_000, 66_000, values=(tensor(600, 4),)),
        memory(700, -128, 70_000),
        memory(300, -64, 70_900),
        memory(800, 4, 80_000),
    ]  # fmt: skip
    facts = {100: "PARAMETER", 800: "OPTIMIZER_STATE", 999: "INPUT"}
    return MemoryProfile(SimpleNamespace(recorded=events, known_tensors=facts, trace_start_ns=lambda: 5_000))


def test_each_allocation_has_a_category(profiled):
    sizes = {}
    for _, action, (key, _), size in profiled.timeline:
        if action in (Action.CREATE, Action.PREEXISTING):
            sizes.setdefault((profiled.category_of(key), action), []).append(size)
    assert sizes == {
        (Category.PARAMETER, Action.PREEXISTING): [2 * 2 * 4],
        (Category.INPUT, Action.PREEXISTING): [3 * 8, 128],
        (Category.ACTIVATION, Action.CREATE): [64],
        (Category.TEMPORARY, Action.CREATE): [32],
        (Category.AUTOGRAD_DETAIL, Action.CREATE): [8],
        (Category.GRADIENT, Action.CREATE): [16],
        (Category.OPTIMIZER_STATE, Action.CREATE): [4],
    }


def test_memory_of_the_first_event_of_a_backward_is_its_detail():
    events = [
        recorded(Kind.EVALUATION, "backward", 0, 9),
        recorded(Kind.NODE, "MmBackward0", 1, 8, parent=0),
        memory(100, 8, 2, 0),
        memory(200, 8, 3, 1),
        memory(300, 8, 10),
    ]
    result = SimpleNamespace(recorded=events, known_tensors={}, trace_start_ns=lambda: 0)
    memory_profile = MemoryProfile(result)
    categories = [memory_profile.category_of(key) for _, _, (key, _), _ in memory_profile.timeline]
    assert categories == [Category.AUTOGRAD_DETAIL, Category.AUTOGRAD_DETAIL, Category.TEMPORARY]


def test_the_time_line_has_writes_and_ends(profiled):
    changes = [
        (at, action, key.address, version, size) for at, action, (key, version), size in profiled.timeline
    ]
    assert changes == [
        *((-1, Action.PREEXISTING, address, 0, size) for address, size in ((100, 16), (200, 24), (700, 128))),
        (10_000, Action.CREATE, 300, 0, 64),
        (20_000, Action.CREATE, 400, 0, 32),
        (25_000, Action.INCREMENT_VERSION, 400, 0, 32),
        (30_000, Action.DESTROY, 400, 1, 32),
        (60_000, Action.CREATE, 500, 0, 8),
        (63_000, Action.CREATE, 600, 0, 16),
        (70_000, Action.DESTROY, 700, 0, 128),
        (70_900, Action.DESTROY, 300, 0, 64),
        (80_000, Action.CREATE, 800, 0, 4),
    ]


# Bytes: none, input, temporary, activation, gradient, autograd's detail, parameter, state of the optimizer.
ROWS = [
    (5, [0, 152, 0, 0, 0, 0, 16, 0]),
    (10, [0, 152, 0, 64, 0, 0, 16, 0]),
    (20, [0, 152, 32, 64, 0, 0, 16, 0]),
    (30, [0, 152, 0, 64, 0, 0, 16, 0]),
    (60, [0, 152, 0, 64, 0, 8, 16, 0]),
    (63, [0, 152, 0, 64, 16, 8, 16, 0]),
    (70, [0, 24, 0, 0, 16, 8, 16, 0]),
    (80, [0, 24, 0, 0, 16, 8, 16, 4]),
]


def test_files_of_the_time_line(profiled, tmp_path):
    timeline = MemoryProfileTimeline(profiled)
    timeline.export(str(tmp_path / "m.json"), "cpu:0")
    times, rows = json.loads((tmp_path / "m.json").read_text())
    assert [*zip(times, rows, strict=True)] == ROWS
    timeline.export(str(tmp_path / "cuda.json"), "cuda")
    assert json.loads((tmp_path / "cuda.json").read_text()) == [[], []]
    timeline.export_memory_timeline_raw(str(tmp_path / "raw.json"), "cpu")
    raw = json.loads((tmp_path / "raw.json").read_text())
    numbers = {Action.PREEXISTING: 1, Action.CREATE: 2, Action.INCREMENT_VERSION: 3, Action.DESTROY: 4}
    expected = [
        [at, numbers[a], n, profiled.category_of(key).value] for at, a, (key, _), n in profiled.timeline
    ]
    assert raw == expected and raw[3] == [10_000, 2, 64, 3]
    timeline.export_memory_timeline_raw(str(tmp_path / "cuda.json"), "cuda:1")
    assert json.loads((tmp_path / "cuda.json").read_text()) == []
    timeline.export(str(tmp_path / "m.html"), "cpu")
    page = (tmp_path / "m.html").read_text()
    assert "Memory by category" in page and "AUTOGRAD_DETAIL" in page and "UNKNOWN" in page
    timeline.export_memory_timeline_html(str(tmp_path / "m.html"), "cpu", title="one step")
    assert "one step" in (tmp_path / "m.html").read_text()


def trace_of(tmp_path, events):
    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "trace.json"))
    observer._running, observer._alone = True, False
    observer.take(SimpleNamespace(recorded=events))
    observer.stop()
    return json.loads((tmp_path / "trace.json").read_text())


def test_an_execution_trace_has_a_node_for_each_event(tmp_path):
    x = tensor(100, 2, 3)
    events = [
        recorded(Kind.RANGE, "step", 0, 9),
        recorded(Kind.OPERATOR, "aten::add", 1, 2, 11, 0, (x, 1.5, [x, None], True, "text", 3), 5, "Tensor"),
        recorded(Kind.RESULTS, "", 2, 2, 0, 0, (tensor(300, 2, dtype=tl_core.int64),), 5),
        recorded(Kind.RESULTS, "", 2, 2, 0, 0, (x,), 6),
        memory(1, 8, 3),
        recorded(Kind.NODE, "AddBackward0", 10, 12, 11, -1, (), 0, "", 2),
    ]
    trace = trace_of(tmp_path, events)
    nodes = {node["name"]: node for node in trace["nodes"]}
    root, thread, step, add, other, node = trace["nodes"]
    assert [n["id"] for n in trace["nodes"]] == [1, 2, 3, 4, 5, 6]
    assert [n["ctrl_deps"] for n in trace["nodes"]] == [0, 1, 2, 3, 1, 5]
    assert root["name"].endswith("process]") and thread["name"] == other["name"]
    assert [*nodes][2:] == ["step", "aten::add", "AddBackward0"]
    assert add["inputs"] == {
        "values": [[1, 1, 0, 6, 4, "cpu"], 1.5, [[1, 1, 0, 6, 4, "cpu"], "<None>"], True, "text", 3],
        "shapes": [[2, 3], [], [[2, 3], []], [], [], []],
        "types": [*("Tensor(float)", "Double", "GenericList[Tensor(float),None]", "Bool", "String", "Int")],
        "strides": [[3, 1], [], [[3, 1], []], [], [], []],
    }
    assert add["outputs"]["values"] == [[2, 2, 0, 2, 8, "cpu"]] and node["outputs"]["values"] == []
    attributes = [{a["name"]: a["value"] for a in n["attrs"]} for n in (thread, step, add, node)]
    assert [a["rf_id"] for a in attributes] == [0, 1, 2, 6]
    assert [a["scope"] for a in attributes] == [7, 7, 0, 1]
    assert [a["seq_id"] for a in attributes] == [-1, 0, 11, 11]
    assert [(a["tid"], a["fw_tid"]) for a in attributes] == [(1, 0), (1, 0), (1, 0), (2, 2)]
    assert [a["op_schema"] for a in attributes] == ["", "", "aten::add.Tensor", ""]


def frame(file, line):
    return {"filename": file, "line": line, "name": "f"}


def test_the_blocks_of_a_snapshot():
    own = [frame("/site/tl_core/api.py", 1), frame("/home/train.py", 7)]
    trace = [
        {"action": "alloc", "addr": 1, "size": 10, "time_us": 100, "frames": own, "module": "model"},
        {"action": "alloc", "addr": 2, "size": 20, "time_us": 105},
        {"action": "free_requested", "addr": 1, "time_us": 106},
        {"action": "free_completed", "addr": 1, "time_us": 107},
        {"action": "free_completed", "addr": 9, "time_us": 108},
        {"action": "oom", "size": 99, "time_us": 130, "frames": own[1:]},
    ]
    blocks = [
        {"state": "active_allocated", "address": 2, "size": 20},
        {"state": "active_allocated", "address": 3, "size": 30, "frames": own[:1]},
        {"state": "inactive", "address": 4, "size": 40},
    ]
    data = memory_page._data({"device_traces": [trace], "segments": [{"blocks": blocks}]})
    assert data["blocks"] == [[10, 0, 7, 0, 0, 0], [20, 5, None, 1, 1, 1], [30, 0, None, 2, 1, 2]]
    assert data["lines"] == ["/home/train.py:7 in f", "no line known", "/site/tl_core/api.py:1 in f"]
    assert data["modules"] == ["model", ""]
    assert data["stacks"] == [
        "/site/tl_core/api.py:1 in f\n/home/train.py:7 in f",
        "",
        "/site/tl_core/api.py:1 in f",
    ]
    assert data["failures"] == [[30, 99, "/home/train.py:7 in f"]] and data["duration_us"] == 30
    empty = memory_page._data({"device_traces": [], "segments": []})
    assert empty["blocks"] == [] and empty["duration_us"] == 1


def test_a_trace_without_a_profile_has_results(tmp_path):
    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "trace.json"))
    observer.start()
    tl_core.ones(2, 3).exp()
    observer.stop()
    nodes = {n["name"]: n for n in json.loads((tmp_path / "trace.json").read_text())["nodes"]}
    assert nodes["aten::exp"]["outputs"]["shapes"] == [[2, 3]] == nodes["aten::exp"]["inputs"]["shapes"]
