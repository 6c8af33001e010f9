"""Profiles: which operators ran, how often, nested in labelled blocks."""

import gc
import gzip
import json
import sqlite3
import threading

import pytest

import tl_core as tl
from tl_autograd import grad, profiler, profiler_results, profiler_util
from tl_autograd import profiler_kinds as kinds
from tl_core.operators import packets as ops


def test_operators_of_forward_and_backward():
    x = tl.ones(3, requires_grad=True)
    x * x
    with profiler.profile() as prof:
        for _ in range(3):
            with profiler.record_function("step"):
                (x * x).sum().backward()
    x * x
    counts = {e.key: e.count for e in prof.key_averages()}
    assert counts["aten::sum"] == 3 and counts["step"] == 3
    assert counts["aten::mul"] >= 9, "one forward and two backward for each step"
    steps = [e for e in prof.function_events if e.name == "step"]
    assert all({c.name for c in e.cpu_children} >= {"aten::mul", "aten::sum"} for e in steps)
    assert all(0 < e.self_cpu_time_total < e.cpu_time_total for e in steps)
    full = sum(e.cpu_time_total for e in prof.function_events if e.cpu_parent is None)
    assert (
        prof.self_cpu_time_total
        == pytest.approx(full)
        == pytest.approx(prof.total_average().self_cpu_time_total)
    )


def test_tables_and_traces(tmp_path):
    with profiler.profile() as prof:
        tl.ones(3).exp().exp()
    table = prof.key_averages().table(sort_by="count", row_limit=1)
    assert "aten::exp" in table and "aten::ones" not in table and "# of Calls" in table
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    trace = json.loads(path.read_text())
    assert [e["name"] for e in trace["traceEvents"]].count("aten::exp") == 2
    prof.function_events.export_chrome_trace(str(path))
    assert [e["name"] for e in json.loads(path.read_text())].count("aten::exp") == 2
    missing = tmp_path / "nowhere" / "trace.json"
    with pytest.raises(OSError, match="nowhere"):
        prof.export_chrome_trace(str(missing))
    assert list(tmp_path.iterdir()) == [path], "nothing half-written stays"


def test_compressed_traces_tell_shapes_types_and_numbers(tmp_path):
    with profiler.profile(record_shapes=True) as prof:
        tl.ones(2, 3).transpose(0, 1).add(1.5)
        tl.cat([tl.zeros(1), tl.zeros(2)])
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(str(path))
    with gzip.open(path) as file:
        events = {e["name"]: e for e in json.load(file)["traceEvents"] if e["ph"] == "X"}
    added = events["aten::add"]["args"]
    assert added["Input Dims"] == [[3, 2], [], []] and added["Input Strides"] == [[1, 3], [], []]
    assert added["Input type"] == ["float", "Scalar", "Scalar"] and added["Concrete Inputs"][1] == "1.5"
    assert events["aten::cat"]["args"]["Input Dims"] == [[[1], [2]], []]
    assert [e.input_shapes for e in prof.function_events if e.name == "aten::add"] == [[[3, 2], [], []]]


def test_nodes_of_the_backward_name_their_calls(tmp_path):
    x = tl.ones(3, requires_grad=True)
    with profiler.profile() as prof:
        (x.exp() * 2).sum().backward()
    numbers = {e.name: e.sequence_nr for e in reversed(prof.function_events)}  # the first of each name
    assert numbers["aten::exp"] == numbers["ExpBackward0"] < numbers["aten::mul"] < numbers["aten::sum"]
    assert numbers["torch::autograd::AccumulateGrad"] == -1
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    at = {e["ts"]: e["name"] for e in events if e["ph"] == "X"}
    arrows = {
        p: {e["id"]: at[e["ts"]] for e in events if e.get("cat") == "fwdbwd" and e["ph"] == p} for p in "sf"
    }
    pairs = {(arrows["s"][i], arrows["f"][i]) for i in arrows["s"]}
    assert pairs == {
        ("aten::exp", "ExpBackward0"),
        ("aten::mul", "MulBackward0"),
        ("aten::sum", "SumBackward0"),
    }


def test_memory_of_tensors_belongs_to_what_ran():
    with profiler.profile(profile_memory=True) as prof:
        with profiler.record_function("make"):
            x = tl.ones(1000)
        with profiler.record_function("drop"):
            del x
        tl.ones(10)
    usage = {e.key: e.cpu_memory_usage for e in prof.key_averages()}
    assert usage["make"] == 4000 and usage["drop"] == -4000 and usage["[memory]"] == -40
    assert "CPU Mem" in prof.key_averages().table()


def test_memory_that_cannot_be_had_is_told(tmp_path):
    with profiler.profile(profile_memory=True) as prof, pytest.raises(tl.OutOfMemoryError):
        tl.empty(1 << 50)
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    (event,) = [
        e
        for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        if e["name"] == "[OutOfMemory]"
    ]
    assert event["ph"] == "i" and event["args"]["Bytes"] == 4 << 50


def test_stacks_name_the_lines_of_the_program(tmp_path):
    def deep():
        return tl.ones(3).exp()

    with profiler.profile(with_stack=True) as prof:
        deep()
    (event,) = [e for e in prof.function_events if e.name == "aten::exp"]
    assert "test_profiler.py" in event.stack[0] and event.stack[0].endswith("deep")
    assert "test_stacks_name_the_lines_of_the_program" in event.stack[1]
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    assert all(int(line.rsplit(" ", 1)[1]) > 0 for line in path.read_text().splitlines())
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "weight")
    prof.export_chrome_trace(str(path))
    functions = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "python_function"]
    assert any(e["name"].endswith(": deep") for e in functions)
    apart = prof.key_averages(group_by_stack_n=2).table()
    assert "Source Location" in apart and "deep" in apart


def test_flops_count_once():
    with profiler.profile(with_flops=True) as prof:
        tl.matmul(tl.ones(2, 3), tl.ones(3, 5))
        tl.addmm(tl.ones(5), tl.ones(2, 3), tl.ones(3, 5))
        tl.ones(7) * 2
    flops = {e.key: e.flops for e in prof.key_averages()}
    assert flops["aten::mm"] == 60 and flops["aten::addmm"] == 60 and flops["aten::mul"] == 7
    assert flops["aten::matmul"] == 0, "its parts have been counted"
    assert "Total FLOPs" in prof.key_averages().table()


def test_threads_are_told_apart_and_others_are_not_recorded():
    def work():
        tl.ones(3).exp()

    with profiler.profile() as prof:
        other = threading.Thread(target=work)
        other.start()
        other.join()
        tl.ones(3).log()
    names = {e.name for e in prof.function_events}
    assert "aten::log" in names and "aten::exp" not in names


def test_an_operator_that_fails_is_an_event_too():
    with profiler.profile(record_shapes=True) as prof, pytest.raises(RuntimeError):
        tl.ones(2) + tl.ones(3)
    assert [e.input_shapes for e in prof.function_events if e.name == "aten::add"] == [[[2], [3], []]]


def test_what_runs_on_after_the_profile_is_cut_off():
    block = profiler.record_function("long")
    with profiler.profile() as prof:
        block.__enter__()
    block.__exit__()
    (event,) = [e for e in prof.function_events if e.name == "long"]
    assert (
        event.time_range.end
        <= (prof.kineto_results.trace_end_ns() - prof.kineto_results.trace_start_ns()) / 1e3
    )


def test_what_a_profile_refuses():
    with profiler.profile(enabled=False, record_shapes=True) as prof:
        tl.ones(2)
    assert prof is None
    once = profiler.profile()
    with pytest.raises(RuntimeError, match="didn't finish"):
        _ = once.function_events
    with once, pytest.raises(RuntimeError, match="do not nest"), profiler.profile():
        pass
    with pytest.raises(RuntimeError, match="not reentrant"), once:
        pass
    with profiler.emit_nvtx(enabled=False), profiler.emit_itt(enabled=False), profiler.emit_itt():
        pass
    with pytest.raises(AssertionError, match="CUDA"), profiler.emit_nvtx():
        pass


def test_traces_of_nvprof(tmp_path):
    path = tmp_path / "trace.sqlite"
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE StringTable (_id_ INTEGER, value TEXT);
        INSERT INTO StringTable VALUES (1, 'mul'), (2, 'gemm');
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (id INTEGER, name INTEGER, timestamp INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (7, 1, 1000), (7, 0, 9000);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000, 3000, 5);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
          (correlationId INTEGER, name INTEGER, start INTEGER, end INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (5, 2, 4000, 6000);
    """)
    database.close()
    (event,) = profiler.parse_nvprof_trace(str(path))
    assert event.kernels == [("gemm", 0, 2.0)]
    (event,) = profiler.load_nvprof(str(path))
    assert event.name == "mul" and event.cpu_time_total == 8.0
    assert event.kernels == [profiler.Kernel("gemm", 0, 2.0)] and event.device_time_total == 2.0


def test_small_helpers():
    unique = profiler.EnforceUnique()
    unique.see("a", 1)
    with pytest.raises(RuntimeError, match=r"duplicate key: \('a', 1\)"):
        unique.see("a", 1)
    steps = profiler.KinetoStepTracker
    begin = steps.current_step()
    steps.init_step_count("one")
    steps.init_step_count("two")
    assert [steps.increment_step("one"), steps.increment_step("one"), steps.increment_step("two")] == [
        begin + 1,
        begin + 2,
        begin + 2,
    ]
    assert (
        steps.erase_step_count("one") and steps.erase_step_count("two") and not steps.erase_step_count("one")
    )

    class Record:
        def __init__(self, at):
            self.at = at

        def start_ns(self):
            return self.at

    records = profiler_util.MemRecordsAcc([Record(n) for n in (5, 1, 9, 3)])
    assert [m.at for m in records.in_interval(3, 6)] == [3, 5]
    assert profiler_util.Interval(2, 7).elapsed_us() == 5 and profiler_util.StringTable()["a"] == "a"


def test_gradients_reach_through_what_is_made_of_other_operators():
    x = tl.rand(3, 3, generator=tl.Generator().manual_seed(0)).requires_grad_()

    def gradient():
        return grad(tl.softmax(x @ x, 0).var(), x)[0]

    alone = gradient()
    with profiler.profile():
        profiled = gradient()
    with tl.numerics(nan="raise", inf="raise"):
        watched = gradient()
    assert tl.equal(alone, profiled) and tl.equal(alone, watched)


def in_another_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("everywhere", [False, True])
def test_operators_of_other_threads_are_recorded_if_wanted(everywhere):
    start, go, finish = threading.Event(), threading.Event(), threading.Event()

    def early():  # runs when the profile begins
        start.set()
        go.wait()
        with profiler.record_function("early"):
            weight = tl.ones(2, requires_grad=True)
            weight.log().sum().backward()
        finish.set()

    def late():
        with profiler.record_function("late"):
            tl.ones(2).exp()

    thread = threading.Thread(target=early)
    thread.start()
    start.wait()
    config = profiler._ExperimentalConfig(profile_all_threads=everywhere)
    with profiler.profile(experimental_config=config) as prof:
        go.set()
        finish.wait()
        in_another_thread(late)
        tl.ones(2).sqrt()
    thread.join()
    result = {e.name: e for e in prof.events()}
    assert "aten::sqrt" in result
    rest = {"early", "aten::log", "LogBackward0", "torch::autograd::AccumulateGrad", "late", "aten::exp"}
    assert set(result) & rest == (rest if everywhere else set())
    if everywhere:
        assert len({result[name].thread for name in ("aten::sqrt", "aten::log", "aten::exp")}) == 3
        assert (
            result["aten::log"].cpu_parent.name == "early" and result["aten::exp"].cpu_parent.name == "late"
        )
    with profiler.profile() as prof:
        in_another_thread(late)
    assert not prof.events(), "the next profile is one of its own thread"


def test_collection_of_all_threads_is_switched_for_all():
    config = profiler._ExperimentalConfig(profile_all_threads=True)
    with profiler.profile(experimental_config=config) as prof:
        prof.toggle_collection_dynamic(False, [profiler.ProfilerActivity.CPU])
        in_another_thread(lambda: tl.ones(2).exp())
        prof.toggle_collection_dynamic(True, [profiler.ProfilerActivity.CPU])
        in_another_thread(lambda: tl.ones(2).log())
    names = {e.name for e in prof.events()}
    assert "aten::log" in names and "aten::exp" not in names


def test_a_bounded_recording_keeps_the_latest_events(tmp_path):
    config = profiler._ExperimentalConfig(most_megabytes=1)
    x = tl.ones(2)
    with profiler.profile(experimental_config=config) as prof, profiler.record_function("all of it"):
        for _ in range(40_000):
            x.exp()
        for _ in range(10):
            x.log()
    counts = {e.key: e.count for e in prof.key_averages()}
    value, forgotten = len(prof.kineto_results.recorded), prof.kineto_results.forgotten
    assert value + forgotten == 40_011 and forgotten > 0
    assert counts["aten::log"] == 10 and counts["aten::exp"] == value - 10 and "all of it" not in counts
    event_bytes = 48  # at least
    assert value * event_bytes <= 2**20
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    trace = json.loads((tmp_path / "t.json").read_text())
    assert trace["forgotten_events"] == forgotten
    assert sum(e.get("cat") == "cpu_op" for e in trace["traceEvents"]) == value
    with pytest.raises(ValueError, match="most_megabytes"):
        profiler._ExperimentalConfig(most_megabytes=-1)


def test_blocks_that_outlive_their_room_write_nothing():
    config = profiler._ExperimentalConfig(most_megabytes=0.5)
    x = tl.ones(2)
    blocks = [profiler.record_function(f"block {i}") for i in range(100)]
    with profiler.profile(experimental_config=config) as prof:
        for block in blocks:
            block.__enter__()
        for _ in range(20_000):
            x.exp()
        for block in reversed(blocks):
            block.__exit__(None, None, None)
    assert {e.name for e in prof.events()} == {"aten::exp"}
    assert all(0 < e.cpu_time_total < 1e6 for e in prof.events()), "no other event's end was overwritten"


FACTS = ("key", "count", "flops", "cpu_memory_usage", "self_cpu_memory_usage", "input_shapes", "stack",
         "overload_name", "scope", "is_user_annotation")  # fmt: skip
TIMES = ("cpu_time_total", "self_cpu_time_total")


def trains():
    a, b = tl.ones(4, 8, requires_grad=True), tl.ones(8, 3)
    for step in range(3):
        with profiler.record_function("step", str(step)):
            y = tl.cat([a @ b, tl.zeros(step + 1, 3)]).add(1.5).mul(2)
        y.sum().backward()
    values = [tl.ones(10 * i) for i in range(3)]
    a.grad.add_(1)
    return values


@pytest.mark.parametrize("shapes", [False, True])
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("flops", [False, True])
@pytest.mark.parametrize("overloads", [False, True])
def test_sums_are_those_of_the_single_events(shapes, depth, flops, overloads):
    config = profiler._ExperimentalConfig(capture_overload_names=True)
    with profiler.profile(record_shapes=shapes, with_flops=flops, profile_memory=True, with_stack=depth > 0,
                          experimental_config=config) as prof:  # fmt: skip
        trains()
    expected = prof.events().key_averages(shapes, depth, overloads)
    result = prof.key_averages(shapes, depth, overloads)
    assert [[getattr(e, f) for f in FACTS] for e in result] == [
        [getattr(e, f) for f in FACTS] for e in expected
    ]
    for one, other in zip(result, expected, strict=True):
        assert [getattr(one, t) for t in TIMES] == pytest.approx([getattr(other, t) for t in TIMES], abs=1e-2)
        assert (one.cpu_parent is None) == (other.cpu_parent is None)
    assert prof.self_cpu_time_total == pytest.approx(prof.events().self_cpu_time_total)
    assert prof.total_average().count == prof.events().total_average().count
    assert any(e.flops for e in result) == flops
    tables = [each.table(top_level_events_only=True).splitlines() for each in (result, expected)]
    assert [line[:30] for line in tables[0]] == [line[:30] for line in tables[1]]


def test_ranges_as_operators():
    enter, leave = ops.profiler._record_function_enter_new, ops.profiler._record_function_exit
    with profiler.profile() as prof:
        handle = enter("mine", "of two numbers")
        tl.ones(2)
        leave(handle)
        tl.zeros(2)
    mine, ones = (next(e for e in prof.function_events if e.name == name) for name in ("mine", "aten::ones"))
    assert mine.time_range.start <= ones.time_range.start and ones.time_range.end <= mine.time_range.end
    assert str(enter.default._schema).startswith(
        "profiler::_record_function_enter_new(str name, str? args=None)"
    )
    leave(enter("outside of a profile"))


def test_the_active_profiler():
    assert profiler.kineto_available() and {a.name for a in profiler.supported_activities()} == {"CPU"}
    assert profiler.profiler_type() == kinds.ActiveProfilerType.NONE
    with profiler.profile():
        assert profiler.profiler_type() == kinds.ActiveProfilerType.KINETO
    assert profiler.profiler_type() == kinds.ActiveProfilerType.NONE


def test_numbers_of_enumerations_are_those_of_PyTorch():
    numbers = {
        kinds.DeviceType: {
            "CPU": 0,
            "CUDA": 1,
            "XLA": 9,
            "XPU": 12,
            "Meta": 14,
            "MTIA": 19,
            "PrivateUse1": 20,
        },
        kinds.ProfilerState: {"Disabled": 0, "CPU": 1, "ITT": 4, "KINETO": 6, "KINETO_PRIVATEUSE1": 9},
        kinds.ActiveProfilerType: {"NONE": 0, "LEGACY": 1, "KINETO": 2, "PRIVATEUSE1": 5},
        kinds.RecordScope: {
            "FUNCTION": 0,
            "BACKWARD_FUNCTION": 1,
            "USER_SCOPE": 7,
            "STATIC_RUNTIME_MODEL": 9,
        },
        kinds.EventType: {"TorchOp": 0, "Allocation": 3, "PyCall": 5, "PyCCall": 6, "Kineto": 7},
    }
    for kind, members in numbers.items():
        assert {name: int(kind[name]) for name in members} == members


def test_settings_of_a_profile():
    settings = kinds.ExperimentalConfig(profile_all_threads=True, performance_events=("cycles",))
    config = kinds.ProfilerConfig(kinds.ProfilerState.KINETO, True, False, True, False, False, settings, "id")
    assert (config.report_input_shapes, config.profile_memory, config.with_stack) == (True, False, True)
    assert config.experimental_config is settings and settings.performance_events == ["cycles"]
    assert (config.trace_id, settings.profile_all_threads, settings.verbose) == ("id", True, False)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        kinds.ExperimentalConfig(most_megabytes=-1)


def test_events_from_a_result():
    with profiler.profile(record_shapes=True, with_stack=True) as prof, profiler.record_function("label"):
        tl.ones(2, 3) @ tl.ones(3, 5)
    result = prof.kineto_results
    assert isinstance(result, profiler_results.ProfilerResult) and result.forgotten == 0
    assert result.trace_start_ns() < result.trace_end_ns() and result.trace_activities() == ["CPU"]
    assert len(result.columns()["start"]) >= len(result.events()) >= 4
    events = profiler_results.FunctionEvents(result, with_flops=True, overloads=True).make()
    product = next(e for e in events if e.name == "aten::mm")
    label = next(e for e in events if e.name == "label")
    assert product.flops == 60 and product.input_shapes[:2] == [[2, 3], [3, 5]] and label.is_user_annotation
    assert any(e is label for e in (product.cpu_parent, product.cpu_parent.cpu_parent))
    sums = profiler_results.FunctionEvents(result, shapes=False).sums(by_shape=False, by_stack=False)
    assert {s.key: s.count for s in sums}["aten::ones"] == 2
    frame = profiler_results.source_lines(result.recorded[product.id - result._first].stack)[0]
    assert frame.endswith(": test_events_from_a_result") and "test_profiler.py(" in frame
    assert profiler_results.source_lines(0) == []


def test_blocks_without_garbage_collection():
    assert gc.isenabled()
    with profiler_results.without_collection():
        assert not gc.isenabled()
        with profiler_results.without_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
