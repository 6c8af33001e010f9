"""Profiles over steps: schedules, handlers, files."""

import json
import os

import pytest

import tl_core
import tl_profiler
from tl_core.base import recording
from tl_profiler import ProfilerAction, profile, record_function, schedule


def work():
    x = tl_core.ones(4, 4, requires_grad=True)
    (x @ x).sum().backward()


def test_a_schedule_says_what_to_do_in_each_step():
    plan = schedule(wait=2, warmup=1, active=2, repeat=2, skip_first=1)
    words = "".join(
        {"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "s"}[plan(i).name] for i in range(13)
    )
    assert words == "...wrs..wrs.."
    early = schedule(wait=2, warmup=1, active=1, skip_first_wait=1)
    assert [early(i) for i in range(3)] == [
        ProfilerAction.WARMUP,
        ProfilerAction.RECORD_AND_SAVE,
        ProfilerAction.NONE,
    ]
    with pytest.warns(UserWarning, match="won't be using warmup"):
        plain = schedule(wait=0, warmup=0, active=1)
    assert [plain(i) for i in range(2)] == [ProfilerAction.RECORD_AND_SAVE] * 2
    for name in ("wait", "warmup", "active", "repeat", "skip_first"):
        with pytest.raises(AssertionError, match=f"{name}=-1"):
            schedule(**{"wait": 1, "warmup": 1, "active": 1, name: -1})
    with pytest.raises(AssertionError, match="active=0"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(AssertionError, match="non-negative"):
        plan(-1)


@pytest.mark.parametrize(("accumulate", "expected"), [(False, 2), (True, 6)])
def test_cycles_are_handed_over_and_kept_if_wanted(accumulate, expected):
    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=3)
    with profile(
        schedule=plan, on_trace_ready=lambda p: ready.append(p.step_num), acc_events=accumulate
    ) as prof:
        for _ in range(14):
            work()
            prof.step()
    assert ready == [4, 8, 12]
    counts = {e.key: e.count for e in prof.key_averages()}
    assert counts["aten::sum"] == expected
    assert sum(key.startswith("ProfilerStep#") for key in counts) == expected


def test_folders_for_tensorboard(tmp_path):
    handler = tl_profiler.tensorboard_trace_handler(str(tmp_path / "runs"), "me", use_gzip=True)
    with profile(on_trace_ready=handler):
        work()
    (name,) = os.listdir(tmp_path / "runs")
    first, number, *rest = name.split(".")
    assert first == "me" and int(number) > 0 and rest == ["pt", "trace", "json", "gz"]
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError, match="Can't create directory"):
        tl_profiler.tensorboard_trace_handler(str(tmp_path / "file" / "below"))(None)


def test_metadata_stand_beside_the_events(tmp_path):
    prof = profile(record_shapes=True, custom_trace_id_callback=lambda: "mine")
    prof.preset_metadata_json("preset", "[1, 2]")
    with prof:
        work()
        prof.add_metadata("who", 'a "name"')
        prof.add_metadata_json("sizes", "{}")
    assert prof.get_trace_id() == "mine"
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    trace = json.loads((tmp_path / "t.json").read_text())
    assert trace["who"] == 'a "name"' and trace["preset"] == [1, 2] and trace["sizes"] == {}
    assert trace["record_shapes"] == 1 and trace["trace_id"] == "mine"


FLAGS = ("record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops")


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_is_off_unless_it_is_set_and_stands_in_the_trace(tmp_path, flag):
    with profile(**{flag: True}) as prof:
        tl_core.ones(2).exp()
    assert [getattr(prof, name) for name in FLAGS] == [name == flag for name in FLAGS]
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    trace = json.loads((tmp_path / "t.json").read_text())
    shapes = {"record_shapes": 1} if flag == "with_flops" else {}  # operations are counted from shapes
    assert {name: trace.get(name) for name in FLAGS} == {**dict.fromkeys(FLAGS), flag: 1, **shapes}


def test_steps_without_a_schedule_have_no_event():
    with profile() as prof:
        for _ in range(2):
            work()
            prof.step()
    names = {e.key for e in prof.key_averages()}
    assert "aten::sum" in names and not any(name.startswith("ProfilerStep") for name in names)
    assert prof.step_num == 2 and prof.step_rec_fn is None
    count = len(prof.events())
    assert prof._stats().number_of_events == count > 0


def test_a_schedule_that_ends_in_the_middle_of_a_recording_warns():
    plan = [ProfilerAction.RECORD, ProfilerAction.NONE, ProfilerAction.WARMUP]
    ready = []
    prof = profile(schedule=plan.__getitem__, on_trace_ready=lambda p: ready.append(p.step_num))
    prof.start()
    with pytest.warns(UserWarning, match="RECORD followed by NONE"):
        prof.step()
    prof.step()
    prof.stop()
    assert ready == [1]


@pytest.mark.parametrize("action", list(ProfilerAction))
def test_no_recording_runs_after_a_profile_that_stops_in_any_action(action):
    prof = profile(schedule=lambda step: action)
    prof.start()
    tl_core.ones(2).exp()
    prof.stop()
    assert not recording.is_recording()
    with profile() as after:
        tl_core.ones(2).log()
    names = {event.name for event in after.events()}
    assert "aten::log" in names and "aten::exp" not in names


def test_a_profile_that_has_not_started_is_refused():
    prof = profile()
    assert prof.get_trace_id() is None and prof._stats() is None
    with pytest.raises(AssertionError, match=r"call start\(\)"):
        prof.key_averages()
    with pytest.raises(AssertionError, match="No valid profiler activities"):
        tl_profiler.profile(activities=iter(()))
    with pytest.warns(FutureWarning, match="use_cuda"):
        profile(use_cuda=False)


def test_collection_is_switched_within_a_profile():
    with profile() as prof:
        prof.toggle_collection_dynamic(False, [tl_profiler.ProfilerActivity.CPU])
        tl_core.ones(2).exp()
        prof.toggle_collection_dynamic(True, [tl_profiler.ProfilerActivity.CPU])
        tl_core.ones(2).log()
    names = {e.name for e in prof.events()}
    assert "aten::log" in names and "aten::exp" not in names


def test_execution_traces_tell_arguments_and_results(tmp_path):
    path = str(tmp_path / "et.json")
    observer = tl_profiler.ExecutionTraceObserver().register_callback(path)
    with profile(execution_trace_observer=observer), record_function("block"):
        y = tl_core.ones(2, 3) + 2
    assert y.shape == (2, 3) and not observer.is_registered
    nodes = {n["name"]: n for n in json.loads((tmp_path / "et.json").read_text())["nodes"]}
    added = nodes["aten::add"]
    assert added["inputs"]["shapes"][0] == [2, 3] and added["inputs"]["values"][1] == 2
    assert added["outputs"]["types"] == ["Tensor(float)"] and added["ctrl_deps"] == nodes["block"]["id"]
    assert nodes["aten::ones"]["outputs"]["values"][0][0] == added["inputs"]["values"][0][0], (
        "the same tensor"
    )


def test_there_is_no_itt_library():
    assert not tl_profiler.itt.is_available()
    for call in (
        lambda: tl_profiler.itt.range_push("a"),
        tl_profiler.itt.range_pop,
        lambda: tl_profiler.itt.mark("a"),
    ):
        with pytest.raises(RuntimeError, match="ITT functions not installed"):
            call()
