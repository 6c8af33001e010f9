"""Patterns of events in trees that are written by hand."""

import json
import sys
from pathlib import Path

import pytest

from tl_autograd.profiler_kinds import EventType
from tl_profiler import _pattern_matcher as patterns

sys.path.insert(0, str(Path(__file__).parent))

from event_trees import event, profile_of


def matches(kind, *tree):
    return [e.name for e in kind(profile_of([*tree])).matched_events()]


def test_neighbours_of_an_event():
    children = [event(name, at, at + 1) for at, name in enumerate("abc")]
    outer, other = event("outer", 0, 9, *children), event("other", 10, 11)
    pattern = patterns.NamePattern(profile_of([outer, other]), "b|other")
    a, b, c = children
    assert pattern.siblings_of(b) == ([a], [c]) and pattern.siblings_of(other) == ([outer], [])
    assert (pattern.next_of(a), pattern.next_of(c), pattern.next_of(outer)) == (b, None, other)
    assert (pattern.prev_of(a), pattern.prev_of(c), pattern.prev_of(other)) == (None, b, outer)
    assert pattern.root_of(c) is outer and pattern.root_of(other) is other
    assert pattern.matched_events() == [b, other]
    assert pattern.description == "Matched Name Event: b|other"
    assert pattern.summary([b, other]) == "b|other: 2 events matched."


def test_the_line_around_an_event_is_a_call_of_a_file():
    inner = event("op", 3, 4)
    labelled = event("c.py(3): a label", 2, 5, inner)
    native = event("built-in", 1, 6, labelled, tag=EventType.PyCall)
    outer = event("a.py(1): f", 0, 9, native, tag=EventType.PyCall)
    assert patterns.source_of(inner) is outer and patterns.source_of(outer) is None


def test_a_pattern_without_a_rule_and_a_profile_that_runs_are_refused():
    with pytest.raises(NotImplementedError):
        patterns.Pattern(profile_of([event("a", 0, 1)])).matched_events()
    with pytest.raises(AssertionError, match="has not ended"):
        patterns.Pattern(type("Profile", (), {"kineto_results": None})())
    wrapper = type("Profile", (), {"profiler": profile_of([event("a", 0, 1)])})()
    assert [e.name for e in patterns.NamePattern(wrapper, "a").matched_events()] == ["a"]


def loop(count, names=("aten::select", "aten::add")):
    operators = [event(name, 0, 1) for _ in range(count) for name in names]
    return event("loop", 0, 9, event("aten::zeros", 0, 1), *operators, event("aten::sum", 0, 1))


def test_ten_rows_in_a_row_are_a_loop():
    assert matches(patterns.ForLoopIndexingPattern, loop(10)) == ["aten::select"]
    assert matches(patterns.ForLoopIndexingPattern, loop(25)) == ["aten::select"]
    assert matches(patterns.ForLoopIndexingPattern, loop(9)) == []
    assert matches(patterns.ForLoopIndexingPattern, loop(12, ("aten::select",))) == ["aten::select"]
    assert matches(patterns.ForLoopIndexingPattern, loop(12, ("aten::add",))) == []
    mixed = [event(name, 0, 1) for i in range(12) for name in ("aten::select", "ab"[i % 2])]
    assert matches(patterns.ForLoopIndexingPattern, event("loop", 0, 9, *mixed)) == []
    assert matches(patterns.ForLoopIndexingPattern, event("aten::select", 0, 1)) == []


def step(*names, tag=EventType.TorchOp):
    return event("Optimizer.step#SGD.step", 0, 9, *(event(name, 0, 1, tag=tag) for name in names))


def test_an_optimizer_that_steps_each_parameter():
    assert matches(patterns.OptimizerSingleTensorPattern, step("aten::add_", "aten::mul_")) == [step().name]
    for name in ("aten::_foreach_add_", "aten::_fused_sgd_"):
        assert matches(patterns.OptimizerSingleTensorPattern, step("aten::mul", name)) == []
    assert matches(patterns.OptimizerSingleTensorPattern, step()) == []
    assert matches(patterns.OptimizerSingleTensorPattern, step("python", tag=EventType.PyCall)) == []
    assert (
        matches(patterns.OptimizerSingleTensorPattern, event("aten::add_", 0, 9, event("aten::add", 0, 1)))
        == []
    )


def test_a_loader_without_workers():
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert matches(patterns.SynchronizedDataLoaderPattern, event(name, 0, 1)) == [name]
    other = name.replace("Single", "Multi")
    assert matches(patterns.SynchronizedDataLoaderPattern, event(other, 0, 1)) == []


def test_gradients_that_are_filled_with_zeros():
    zeros = event("aten::zero_", 1, 2)
    inner = event("Optimizer.zero_grad#SGD.zero_grad", 1, 3, zeros)
    outer = event("train.py(3): zero_grad", 0, 4, inner)
    assert matches(patterns.GradNotSetToNonePattern, outer) == [outer.name]
    foreach = event("Optimizer.zero_grad#SGD.zero_grad", 0, 3, event("aten::_foreach_zero_", 1, 2))
    assert matches(patterns.GradNotSetToNonePattern, foreach) == [foreach.name]
    assert matches(patterns.GradNotSetToNonePattern, event("f", 0, 9, event("aten::zero_", 1, 2))) == []
    assert matches(patterns.GradNotSetToNonePattern, event("zero_grad", 0, 9, event("aten::add", 1, 2))) == []


def convolution(bias, operator="aten::conv2d"):
    inputs = ("input", "weight", bias, "stride")
    return event("nn.Module: Conv2d_0", 0, 4, event("wrapper", 1, 3, event(operator, 1, 2, inputs=inputs)))


def norm(name="nn.Module: BatchNorm2d_0", start=4):
    return event(name, start, start + 2)


def test_a_bias_before_a_batch_normalization():
    kind = patterns.Conv2dBiasFollowedByBatchNorm2dPattern
    for operator in ("aten::conv2d", "aten::_convolution", "aten::convolution"):
        assert matches(kind, convolution("bias", operator), norm()) == ["nn.Module: Conv2d_0"]
    assert matches(kind, convolution(None), norm()) == []
    assert matches(kind, convolution("bias")) == []
    assert matches(kind, convolution("bias"), norm("nn.Module: ReLU_0"), norm(start=6)) == []
    assert matches(kind, convolution("bias"), event("aten::relu", 4, 5), norm(start=6)) == [
        "nn.Module: Conv2d_0"
    ]
    assert matches(kind, norm("nn.Module: BatchNorm2d_0", -3), convolution("bias")) == []
    assert matches(kind, convolution("bias", "aten::matmul"), norm()) == []
    for inputs, expected in (
        (("input", "weight"), []),
        (("input", "weight", "bias"), ["nn.Module: Conv2d_0"]),
    ):
        short = event("nn.Module: Conv2d_0", 0, 4, event("aten::conv2d", 1, 2, inputs=inputs))
        assert matches(kind, short, norm()) == expected


@pytest.mark.parametrize(
    "kind", [patterns.ExtraCUDACopyPattern, patterns.FP32MatMulPattern, patterns.MatMulDimInFP16Pattern]
)
def test_patterns_of_other_devices_match_nothing(kind):
    assert matches(kind, event("aten::matmul", 0, 1)) == []


def test_the_report_has_the_line_of_each_event(tmp_path, capsys):
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    inside = event("/a/train.py(7): epoch", 0, 9, event(name, 1, 2), event("sum", 3, 4), tag=EventType.PyCall)
    prof = profile_of([event("main.py(1): main", 0, 10, inside, tag=EventType.PyCall), event(name, 20, 21)])
    patterns.report_all_anti_patterns(prof, json_report_dir=str(tmp_path))
    kind = patterns.SynchronizedDataLoaderPattern
    entry = {"line_number": 7, "name": kind.name, "url": "", "message": kind.description}
    assert json.loads((tmp_path / "torchtidy_report.json").read_text()) == {"/a/train.py": [entry]}
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        *("-" * 40, "TorchTidy Report", "-" * 40, f"{kind.name}: 2 events matched."),
        *(kind.description, "/a/train.py(7): epoch", kind.description, "No source code location found"),
    ]
    patterns.report_all_anti_patterns(prof, print_enable=False)
    assert capsys.readouterr().out == ""
