"""Modules, optimizers, loaders, collectives and saves in one time line; habits found in it."""

import json
import time

import pytest

import tl_core
import tl_nn
from tl_profiler import _pattern_matcher as habits
from tl_profiler import _utils, profile, record_function


def test_modules_nest_and_are_numbered():
    model = tl_nn.Sequential(tl_nn.Linear(4, 4), tl_nn.Linear(4, 4))
    with profile(with_modules=True) as prof:
        for _ in range(2):
            model(tl_core.ones(1, 4))
    counts = {e.key: e.count for e in prof.key_averages() if e.key.startswith("nn.Module")}
    assert counts == {"nn.Module: Sequential_0": 2, "nn.Module: Linear_0": 2, "nn.Module: Linear_1": 2}
    inner = [e for e in prof.events() if e.name == "nn.Module: Linear_1"]
    assert all(e.cpu_parent.name == "nn.Module: Sequential_0" for e in inner)
    assert not tl_nn.modules.module._global_forward_hooks, "nothing stays behind"


def test_a_forward_that_fails_ends_its_event():
    class Failing(tl_nn.Module):
        def forward(self, x):
            raise ValueError("no")

    with profile(with_modules=True) as prof:
        with pytest.raises(ValueError, match="no"):
            tl_nn.Sequential(Failing())(tl_core.ones(1))
        tl_nn.Identity()(tl_core.ones(1))
    (identity,) = [e for e in prof.events() if e.name == "nn.Module: Identity_0"]
    assert identity.cpu_parent is None


def test_optimizers_are_named_by_their_class():
    class Mine(tl_nn.optim.SGD):
        pass

    weight = tl_core.ones(2, requires_grad=True)
    optimizer = Mine([weight], lr=0.1)
    with profile() as prof:
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()
    names = [e.key for e in prof.key_averages()]
    assert "Optimizer.step#Mine.step" in names and "Optimizer.zero_grad#Mine.zero_grad" in names


def test_trees_of_events_are_walked_in_both_ways():
    with profile() as prof:
        tl_core.matmul(tl_core.ones(2, 2), tl_core.ones(2, 2))
    tree = prof.profiler.kineto_results.experimental_event_tree()
    deep = [e.name for e in _utils.traverse_dfs(tree)]
    wide = [e.name for e in _utils.traverse_bfs(tree)]
    assert sorted(deep) == sorted(wide) and wide[: len(tree)] == [e.name for e in tree]


def test_the_own_time_of_an_event_is_without_its_children():
    with profile() as prof, record_function("outer"):
        time.sleep(0.02)
        with record_function("inner"):
            time.sleep(0.05)
    metrics = {k.event.name: m for k, m in _utils.BasicEvaluation(prof.profiler).metrics.items()}
    outer, inner = metrics["outer"], metrics["inner"]
    assert outer.self_time_ns >= 0.02e9 and outer.duration_time_ns - outer.self_time_ns >= 0.05e9
    assert inner.self_time_ns == inner.duration_time_ns >= 0.05e9


def test_stretches_that_overlap_count_once():
    class Event:
        id, start_time_ns, end_time_ns, name = 1, 10, 30, "event"

    key = _utils.EventKey(Event())
    assert (
        key.intervals_overlap([_utils.Interval(0, 15), _utils.Interval(12, 20), _utils.Interval(25, 99)])
        == 15
    )


def test_habits_are_found(tmp_path):
    x = tl_core.ones(20, 20)
    model = tl_nn.Sequential(tl_nn.Conv2d(1, 1, 3), tl_nn.BatchNorm2d(1))
    weight = tl_core.ones(2, requires_grad=True)
    optimizer = tl_nn.optim.SGD([weight])
    with profile(with_stack=True, record_shapes=True) as prof:
        total = 0
        for i in range(12):
            total += x[i]
        model(tl_core.ones(1, 1, 8, 8))
        weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    result = {kind.__name__: len(kind(prof).matched_events()) for kind in habits._ALL}
    assert result["ForLoopIndexingPattern"] == 1 and result["Conv2dBiasFollowedByBatchNorm2dPattern"] == 1
    assert result["OptimizerSingleTensorPattern"] == 0, "all parameters are stepped at once"
    assert result["GradNotSetToNonePattern"] == 1
    habits.report_all_anti_patterns(prof, print_enable=False, json_report_dir=str(tmp_path))
    report = json.loads((tmp_path / "torchtidy_report.json").read_text())
    assert sum(map(len, report.values())) >= 2
