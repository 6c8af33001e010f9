"""The states of observers and profiles, marks without a library, and texts of recorded memory."""

import itertools
import json
import sys
import warnings
from pathlib import Path

import pytest

import tl_core as tl
from tl_profiler import ExecutionTraceObserver, ProfilerAction, itt, memory_viz, profile, schedule
from tl_profiler import _pattern_matcher as patterns
from tl_profiler._utils import EventKey, EventMetrics, Interval
from tl_profiler.profiler import _KinetoProfile

sys.path.insert(0, str(Path(__file__).parent))

from event_trees import event, profile_of

# ---- observers of whole programs -------------------------------------------------------------------------------------


def names(path):
    return {node["name"] for node in json.loads(Path(path).read_text())["nodes"]}


def test_an_observer_records_between_start_and_stop(tmp_path):
    path = str(tmp_path / "trace.json")
    observer = ExecutionTraceObserver()
    assert (observer.is_registered, observer.is_running(), observer.get_output_file_path()) == (
        False,
        False,
        None,
    )
    observer.start()
    assert not observer.is_running()  # without a file
    assert observer.register_callback(path) is observer and observer.register_callback("another") is observer
    assert observer.is_registered and observer.get_output_file_path() == path and Path(path).exists()
    x = tl.ones(2)
    x + x
    observer.start()
    observer.start()
    assert observer.is_running() and observer._execution_trace_running
    x * x
    observer.stop()
    assert not observer.is_running()
    x - x
    observer.stop()
    assert "aten::mul" in names(path) and not names(path) & {"aten::add", "aten::sub"}
    observer.cleanup()
    assert not observer.is_registered and observer.get_output_file_path() is None
    assert "aten::mul" in names(path)


def test_an_observer_that_ends_while_it_records_writes_its_file(tmp_path):
    path = str(tmp_path / "trace.json")
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    tl.ones(2).exp()
    observer.unregister_callback()
    assert "aten::exp" in names(path) and not observer.is_running()


def test_a_second_file_of_an_observer_has_only_its_own_events(tmp_path):
    first, second = str(tmp_path / "first.json"), str(tmp_path / "second.json")
    observer = ExecutionTraceObserver()
    for path, operator in ((first, tl.exp), (second, tl.log)):
        observer.register_callback(path)
        observer.start()
        operator(tl.ones(2))
        observer.unregister_callback()
    assert "aten::exp" in names(first) and "aten::log" not in names(first)
    assert "aten::log" in names(second) and "aten::exp" not in names(second)


@pytest.mark.parametrize(("value", "is_on"), [(None, False), ("0", False), ("yes", False), ("1", True)])
def test_the_environment_asks_for_an_observer(monkeypatch, value, is_on):
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE", raising=False)
    if value is not None:
        monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", value)
    for function in (
        ExecutionTraceObserver.from_environment,
        ExecutionTraceObserver.build_execution_trace_obs_from_env,
    ):
        observer = function()
        assert (observer is not None) == is_on
        if observer is not None:
            path = Path(observer.get_output_file_path())
            assert path.name.endswith("_execution_trace.json") and path.exists()
            observer.cleanup()
            path.unlink()


def test_resources_have_a_folder_beside_the_file(tmp_path):
    path, folder = tmp_path / "trace.json", tmp_path / "trace_resources"
    observer = ExecutionTraceObserver()
    observer.set_extra_resource_collection(True)
    assert observer.get_resources_dir(can_create=True) is None and not folder.exists()
    observer.register_callback(str(path))
    assert observer.get_resources_dir() is None and not folder.exists()
    observer.set_extra_resource_collection(False)
    assert observer.get_resources_dir(can_create=True) is None and not folder.exists()
    observer.set_extra_resource_collection(True)
    assert observer.get_resources_dir(can_create=True) == observer.get_resources_dir() == str(folder)
    assert folder.is_dir()
    function = ExecutionTraceObserver.get_resources_dir_for_et_path
    assert function(str(path)) == function(str(path), create_dir=True) == str(folder)
    assert function(str(tmp_path / "other.json")) is None


# ---- profiles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "warmup", "active", "repeat", "skip", "skip_wait"),
    [*itertools.product((0, 2), (0, 1), (1, 3), (0, 2), (0, 1), (0, 1))],
)
def test_a_schedule_is_a_sequence_of_cycles(wait, warmup, active, repeat, skip, skip_wait):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = schedule(
            wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip, skip_first_wait=skip_wait
        )
    action = ProfilerAction
    cycle = [
        *[action.NONE] * wait,
        *[action.WARMUP] * warmup,
        *[action.RECORD] * (active - 1),
        action.RECORD_AND_SAVE,
    ]
    cycles = cycle * (repeat or 9)
    expected = [*[action.NONE] * skip, *cycles[wait if skip_wait else 0 :], *[action.NONE] * 30][: 9 * active]
    assert [plan(step) for step in range(len(expected))] == expected
    with pytest.raises(AssertionError, match="non-negative"):
        plan(-1)


def test_a_profile_that_has_not_begun_has_no_results():
    prof = profile()
    for call in (prof.events, prof.key_averages, prof.stop_trace, lambda: prof.export_chrome_trace("x")):
        with pytest.raises(AssertionError, match="call start"):
            call()
    assert prof.get_trace_id() is None and prof._stats() is None
    prof.toggle_collection_dynamic(False, [])  # without a recording nothing changes
    with pytest.raises(ValueError, match="record_shapes=True, profile_memory=True, with_stack=True required"):
        prof._memory_profile()
    with pytest.raises(ValueError, match=r"^profile_memory=True required"):
        profile(record_shapes=True, with_stack=True)._memory_profile()


@pytest.mark.parametrize("kind", [profile, _KinetoProfile])
def test_start_and_stop_are_the_block(kind):
    prof = kind()
    prof.start()
    tl.ones(3).exp()
    prof.stop()
    assert [e.count for e in prof.key_averages() if e.key == "aten::exp"] == [1]
    with profile() as block:
        tl.ones(3).exp()
    assert [e.count for e in block.key_averages() if e.key == "aten::exp"] == [1]
    assert "aten::exp" in {e.name for e in block.events()}


# ---- patterns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", patterns._ALL)
def test_a_pattern_answers_true_or_false(kind):
    tree = [event("aten::select", 0, 1), event("zero_grad", 2, 3), event("Optimizer.step#SGD", 4, 5),
            event("nn.Module: Conv2d_0", 6, 7), event("aten::mm", 8, 9)]  # fmt: skip
    pattern = kind(profile_of(tree))
    assert pattern.should_benchmark is False and kind(profile_of(tree), True).should_benchmark is True
    if not kind.skip:
        assert [pattern.match(e) for e in tree] == [False] * len(tree)
    assert pattern.matched_events() == [] and pattern.summary([]) == f"{kind.name}: 0 events matched."


def test_keys_and_times_of_events():
    first, second = event("a", 10, 20), event("a", 10, 20)
    assert (
        EventKey(first) == EventKey(first)
        and EventKey(first) != EventKey(second)
        and EventKey(first) != first
    )
    assert hash(EventKey(first)) == hash(first.id) and repr(EventKey(first)) == "a"
    key = EventKey(first)
    for spans, total in (
        ([], 0), ([(0, 5)], 0), ([(0, 10)], 0), ([(20, 30)], 0), ([(0, 12)], 2), ([(18, 30)], 2), ([(12, 15)], 3),
        ([(0, 30)], 10), ([(15, 18), (11, 13)], 5), ([(11, 15), (13, 17)], 6), ([(11, 19), (12, 13)], 8),
    ):  # fmt: skip
        assert key.intervals_overlap([Interval(*span) for span in spans]) == total
    assert EventMetrics().fraction_idle_time == 0.0
    assert EventMetrics(duration_time_ns=8, idle_time_ns=2).fraction_idle_time == 0.25
    assert (Interval(1, 2).queue_depth, EventMetrics().queue_depth, EventMetrics().self_time_ns) == (0, 0, 0)


# ---- ITT, texts ------------------------------------------------------------------------------------------------------


def test_itt_needs_a_library():
    assert itt.is_available() is False
    for name, call in (
        ("range_push", lambda: itt.range_push("a")), ("range_pop", itt.range_pop), ("mark", lambda: itt.mark("a")),
        ("range_push", lambda: itt.range("a {}", 1).__enter__()),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=rf"itt\.{name}\(\): ITT functions not installed"):
            call()


def block(size, state, *frames):
    return {"size": size, "state": state, "frames": [{"name": name} for name in frames]}


SNAPSHOT = {
    "segments": [
        {
            "total_size": 64,
            "blocks": [block(8, "active_allocated", "inner", "main"), block(16, "inactive", "main")],
        },
        {
            "total_size": 512,
            "blocks": [block(32, "active_pending_free", "inner", "main"), block(5, "active_allocated")],
        },
        {
            "total_size": 128,
            "blocks": [{"size": 4, "state": "active_allocated"}, block(64, "active_allocated", "f")],
        },
    ]
}


def test_recorded_memory_as_lines():
    assert memory_viz.segments(SNAPSHOT).splitlines() == ["seg_1 512", "seg_2 128", "seg_0 64"]
    assert memory_viz.memory(SNAPSHOT).splitlines() == ["f 64", "main;inner 40", "<unknown> 9"]
    for function in (memory_viz.segments, memory_viz.memory):
        assert function(SNAPSHOT, str.upper) == function(SNAPSHOT).upper()
        assert function({"segments": []}) == "" and function(SNAPSHOT, format_flamegraph=len) == len(
            function(SNAPSHOT)
        )
