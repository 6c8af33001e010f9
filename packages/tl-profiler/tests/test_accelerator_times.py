"""The queue and the idle times of an accelerator, computed by hand from launches and kernels."""

import sys
from pathlib import Path

import pytest

from tl_autograd.profiler_kinds import EventType
from tl_profiler import _utils

sys.path.insert(0, str(Path(__file__).parent))

from event_trees import event, kernel, launch, profile_of


@pytest.fixture
def evaluation():
    """Kernels 1 to 3: the queue is empty before 10, from 250 to 410 and after 480 ns."""
    tree = [
        event("a", 0, 100),
        event("b", 100, 400, event("c", 150, 250)),
        event("d", 400, 500),
    ]
    kernels = [kernel(450, 30, 3), kernel(200, 50, 2), kernel(30, 40, 1)]
    return _utils.BasicEvaluation(profile_of(tree, [launch(410, 3), launch(20, 2), launch(10, 1), *kernels]))


def metric(evaluation, name):
    return {key.event.name: getattr(value, name) for key, value in evaluation.metrics.items()}


def test_the_depth_of_the_queue_is_launches_minus_kernels(evaluation):
    points = [(p.start, p.end, p.queue_depth) for p in evaluation.queue_depth_list]
    assert points == [(10, 12, 1), (20, 22, 2), (30, 70, 1), (200, 250, 0), (410, 412, 1), (450, 480, 0)]
    assert metric(evaluation, "queue_depth") == {"a": 0, "b": 1, "c": 1, "d": 0}
    assert [e.start_ns() for e in evaluation.cuda_events] == [10, 20, 30, 200, 410, 450]


def test_idle_times_lie_where_the_queue_is_empty(evaluation):
    assert metric(evaluation, "idle_time_ns") == {"a": 10, "b": 150, "c": 0, "d": 10 + 20}
    assert metric(evaluation, "fraction_idle_time") == {"a": 0.1, "b": 0.5, "c": 0.0, "d": 0.3}
    assert metric(evaluation, "self_time_ns") == {"a": 100, "b": 200, "c": 100, "d": 100}
    assert metric(evaluation, "duration_time_ns") == {"a": 100, "b": 300, "c": 100, "d": 100}
    assert [e.name for e in evaluation.events] == ["a", "b", "c", "d"]
    assert _utils.EventMetrics().fraction_idle_time == 0.0


def test_the_times_of_an_event_begin_at_0():
    metrics = _utils.EventMetrics()
    assert (metrics.self_time_ns, metrics.idle_time_ns, metrics.queue_depth) == (0, 0, 0)
    assert metrics.fraction_idle_time == 0.0


def test_no_launch_is_no_queue():
    evaluation = _utils.BasicEvaluation(profile_of([event("a", 0, 100)]))
    assert evaluation.queue_depth_list == [] and metric(evaluation, "idle_time_ns") == {"a": 0}
    assert evaluation.rank_events(5) == []


def test_a_profile_that_runs_and_an_event_twice_are_refused():
    with pytest.raises(AssertionError, match="hasn't ended"):
        _utils.BasicEvaluation(type("Profile", (), {"kineto_results": None})())
    twice = event("a", 0, 1)
    with pytest.raises(AssertionError, match=rf"Duplicate id: {twice.id}, a"):
        _utils.BasicEvaluation(profile_of([twice, twice]))


@pytest.fixture
def starved():
    """Four launches, their kernels, and then 170 ns without a launch."""
    python = event("train.py(7): step", 130, 300, event("slow", 132, 298), tag=EventType.PyCall)
    tree = [event("start", 0, 20), event("launches", 20, 48), python, event("late", 320, 400)]
    launches = [launch(start, number) for number, start in enumerate((10, 20, 30, 40, 300), 1)]
    kernels = [kernel(start, 20, number) for number, start in enumerate((50, 70, 90, 110, 310), 1)]
    return _utils.BasicEvaluation(profile_of(tree, launches + kernels))


def test_events_after_which_the_queue_runs_dry_come_first(starved):
    assert [p.queue_depth for p in starved.queue_depth_list] == [1, 2, 3, 4, 3, 2, 1, 0, 1, 0]
    names = [key.event.name for key in starved.rank_events(10)]
    assert names[0] == "slow" and {*names} == {"slow", "train.py(7): step", "launches"}
    assert [str(key) for key in starved.rank_events(1)] == ["slow"]


def test_the_report_names_the_line_and_the_idle_time(starved, capsys):
    assert [key.event.name for key in starved.get_optimizable_events()] == ["slow"]
    text = capsys.readouterr().out
    assert text.splitlines() == [
        "Optimizable events:",
        "-" * 80,
        "Event:                slow",
        "Source code location: train.py(7): step",
        "Percentage idle time: 100.00%",
        "-" * 80,
    ]
    starved.get_optimizable_events(2, print_enable=False)
    assert capsys.readouterr().out == ""
    assert _utils.BasicEvaluation(profile_of([])).get_optimizable_events() == []
    assert capsys.readouterr().out == "No events to optimize\n"


def test_traversals_visit_parents_first_and_levels_in_order():
    tree = [event("1", 0, 9, event("2", 1, 4, event("3", 2, 3)), event("4", 5, 6)), event("5", 10, 11)]
    assert [e.name for e in _utils.traverse_dfs(tree)] == ["1", "2", "3", "4", "5"]
    assert [e.name for e in _utils.traverse_bfs(tree)] == ["1", "5", "2", "4", "3"]
    pairs = {"a": "bc", "b": "d", "c": "", "d": ""}
    assert [*_utils.traverse_dfs("a", lambda name: pairs[name])] == ["a", "b", "d", "c"]


def test_keys_are_equal_for_one_event_only():
    first, second = event("a", 0, 1), event("a", 0, 1)
    assert _utils.EventKey(first) == _utils.EventKey(first) != _utils.EventKey(second)
    assert _utils.EventKey(first) != "a" and len({_utils.EventKey(first), _utils.EventKey(first)}) == 1


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], 0),
        ([(0, 10)], 0),
        ([(0, 11), (29, 40)], 2),
        ([(12, 20), (0, 15)], 10),
        ([(12, 14), (13, 14), (14, 16)], 4),
        ([(30, 50)], 0),
    ],
)
def test_overlaps_count_each_nanosecond_once(intervals, expected):
    key = _utils.EventKey(event("a", 10, 30))
    assert key.intervals_overlap([_utils.Interval(*pair) for pair in intervals]) == expected


def test_indices_of_sequences():
    first = _utils.index_of_first_match
    assert first([1, 5, 7], lambda x: x > 4) == 1 and first([1, 5, 7], lambda x: x > 4, 2) == 2
    assert first([1, 5, 7], lambda x: x > 4, 0, 1) is None and first([1, 5], lambda x: x > 4, 0, 99) == 1
    assert first([1, 5], lambda x: x > 4, 0, 2) == 1
    assert _utils.argmax([3, 9, 4]) == 1 and _utils.argmax([3, 9, 4], start=2) == 2
    assert _utils.argmax([3, 9, 4], key=lambda x: -x) == 0 and _utils.argmax([3, 9, 4], end=1) == 0
    assert _utils.argmax([]) is None and _utils.argmax([1], start=1) is None


def test_scores_have_mean_zero_and_deviation_one():
    assert _utils._standardize([1.0, 2.0, 3.0]) == [-1.0, 0.0, 1.0]
    assert _utils._standardize([4.0, 4.0]) == [0.0, 0.0] and _utils._standardize([4.0]) == [0.0]


def test_the_source_of_an_event_is_the_innermost_line():
    inner = event("op", 2, 3)
    event("a.py(1): f", 0, 9, event("b.py(2): g", 1, 8, event("native", 1, 7, inner)), tag=EventType.PyCall)
    inner.parent.parent.tag = EventType.PyCCall
    assert _utils.source_code_location(inner) == "b.py(2): g"
    inner.parent.parent.tag = EventType.TorchOp
    assert _utils.source_code_location(inner) == "a.py(1): f"
    assert _utils.source_code_location(event("op", 0, 1)) == "No source code location found"
