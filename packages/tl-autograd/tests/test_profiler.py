"""Profiles: which operators ran, how often, nested in labelled blocks."""

import json

import pytest

import tl_core as tl
from tl_autograd import grad, profiler, profiler_util


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
    whole = sum(e.cpu_time_total for e in prof.function_events if e.cpu_parent is None)
    assert (
        prof.self_cpu_time_total
        == pytest.approx(whole)
        == pytest.approx(prof.total_average().self_cpu_time_total)
    )


def test_tables_and_traces(tmp_path):
    with profiler.profile() as prof:
        tl.ones(3).exp().exp()
    table = prof.key_averages().table(sort_by="count", row_limit=1)
    assert "aten::exp" in table and "aten::ones" not in table and "# of Calls" in table
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    assert [e["name"] for e in json.loads(path.read_text())].count("aten::exp") == 2


def test_what_is_not_recorded_is_refused():
    with pytest.raises(NotImplementedError, match="record_shapes, with_stack is not there yet"):
        profiler.profile(record_shapes=True, with_stack=True)
    with profiler.profile(enabled=False, record_shapes=True) as prof:
        tl.ones(2)
    assert prof.function_events == []
    with profiler.profile(), pytest.raises(RuntimeError, match="do not nest"), profiler.profile():
        pass
    for marker in (profiler.emit_nvtx, profiler.emit_itt):
        with marker(enabled=False):
            pass
        with pytest.raises(NotImplementedError, match=marker.__name__), marker():
            pass


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
