"""Measurements, timers, tables."""

from __future__ import annotations

import pickle
import shutil
import statistics
import timeit

import pytest

import tl_core
import tl_nn
from tl_utils.benchmark import (
    CallgrindStats,
    Compare,
    CopyIfCallgrind,
    FunctionCount,
    FunctionCounts,
    Language,
    Measurement,
    TaskSpec,
    Timer,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from tl_utils.benchmark.utils.valgrind_wrapper import callgrind_file

TASK = TaskSpec("f(x)", "pass", label="f", sub_label="fast", description="n = 1")


def measure(times, task=TASK, number=1):
    return Measurement(number, list(times), task)


def test_statistics_are_those_of_the_standard_library():
    times = [3e-6, 1e-6, 2e-6, 7e-6, 4e-6]
    m = measure(times)
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    assert m.mean == pytest.approx(statistics.fmean(times), rel=1e-15)
    assert m.median == pytest.approx(middle, rel=1e-15)
    assert m.iqr == pytest.approx(high - low, rel=1e-12)
    assert m.times == times
    m.raw_times.append(1.0)
    assert m.median == pytest.approx(statistics.median([*times, 1.0]))


def test_figures_and_warnings():
    assert measure([1e-3] * 20).significant_figures == 4
    assert not measure([1e-3] * 20).has_warnings
    assert measure([1e-3, 2e-3, 3e-3, 4e-3]).significant_figures == 1
    assert "WARNING" in repr(measure([1e-3, 2e-3, 3e-3, 4e-3]))
    with pytest.raises(ValueError, match="raw_times is empty"):
        _ = measure([]).median


def test_merging():
    other = TaskSpec("g(x)", "pass")
    merged = Measurement.merge([measure([2.0], number=2), measure([3.0]), measure([5.0], other)])
    assert [(m.task_spec, m.number_per_run, m.times) for m in merged] == [
        (TASK, 1, [1.0, 3.0]),
        (other, 1, [5.0]),
    ]
    assert pickle.loads(pickle.dumps(merged[0])).times == [1.0, 3.0]


def test_attributes_of_the_task():
    m = measure([1.0])
    assert (m.stmt, m.label, m.num_threads, m.as_row_name, m.title) == ("f(x)", "f", 1, "fast", "f: fast")
    with pytest.raises(AttributeError, match="nothing"):
        _ = m.nothing


@pytest.mark.parametrize(
    ("time", "unit", "name"),
    [
        (2e-9, "ns", "nanosecond"),
        (2e-6, "us", "microsecond"),
        (2e-3, "ms", "millisecond"),
        (2.0, "s", "second"),
    ],
)
def test_units(time, unit, name):
    assert select_unit(time)[0] == unit
    assert unit_to_english(unit) == name


def test_rounding_and_order():
    assert [trim_sigfig(x, 2) for x in (4174.4, 0.0123, 1.0, 0.0)] == [4200.0, pytest.approx(0.012), 1.0, 0.0]
    with pytest.raises(ValueError, match="positive integer"):
        trim_sigfig(1.0, 0)
    assert ordered_unique([3, 1, 3, 2, 1]) == [3, 1, 2]


def test_threads_are_restored():
    before = tl_core.get_num_threads()
    with pytest.raises(KeyError), set_torch_threads(1):
        assert tl_core.get_num_threads() == 1
        raise KeyError
    assert tl_core.get_num_threads() == before


class Clock:
    """A `timeit.Timer` whose statement takes a set time."""

    cost = 1e-5

    def __init__(self, stmt, setup, timer, globals):
        self.runs = []

    def timeit(self, number):
        self.runs.append(number)
        return 1e-8 + number * self.cost


class ClockTimer(Timer):
    _timer_cls = Clock


def test_blocks_are_long_enough_for_the_clock():
    heard = []
    m = ClockTimer("f(x)").blocked_autorange(callback=lambda n, t: heard.append((n, t)), min_run_time=1.0)
    overhead = 1e-8 / m.raw_times[0]
    assert overhead <= 1e-4
    assert m.raw_times[0] >= 1e-3
    assert sum(m.raw_times) >= 1.0
    assert [t for _, t in heard] == m.raw_times
    assert {n for n, _ in heard} == {m.number_per_run}


def test_adaptive_measurements_stop_when_they_agree():
    m = ClockTimer("f(x)").adaptive_autorange()
    assert 0.01 <= sum(m.raw_times) <= 0.011
    assert len(ClockTimer("f(x)").adaptive_autorange(min_run_time=0.0).times) == 4
    assert ClockTimer("f(x)").timeit(1000).median == pytest.approx(1e-5 + 1e-11)


def test_statements_see_the_library_and_globals():
    timer = Timer(
        """
        y = f(x)
        """,
        setup="x = torch.ones(3)",
        globals={"f": lambda x: x + 1},
    )
    assert timer.timeit(2).stmt == "y = f(x)"
    assert Timer("torch", globals={"torch": 1}).timeit(1).median > 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"stmt": lambda: 1}, TypeError, "must be texts"),
        ({"language": "fortran"}, ValueError, "'python' or 'c\\+\\+'"),
        ({"global_setup": "import math"}, ValueError, "for C\\+\\+"),
        ({"language": "c++", "globals": {"x": 1}}, ValueError, "can't see globals"),
        ({"language": "c++", "timer": lambda: 0.0}, NotImplementedError, "leave timer out"),
    ],
)
def test_wrong_timers(arguments, error, message):
    with pytest.raises(error, match=message):
        Timer(**arguments)


def test_what_timeit_has_and_this_has_not():
    for name in ("repeat", "autorange"):
        with pytest.raises(NotImplementedError, match="blocked_autorange"):
            getattr(Timer(), name)()


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler")
def test_statements_in_cpp():
    timer = Timer(
        "x = twice(x);",
        setup="volatile int x = 1;",
        global_setup="int twice(int x) { return 2 * x; }",
        language=Language.CPP,
    )
    assert 0 < timer.timeit(1000).median < 1e-3
    with pytest.raises(RuntimeError, match="doesn't compile"):
        Timer("nonsense", language="c++").timeit(1)
    with pytest.raises(RuntimeError, match="threw: no"):
        Timer('throw std::runtime_error("no");', language="c++").timeit(1)


def test_cpp_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no-such-compiler"):
        Timer("int another = 1; (void)another;", language="c++").timeit(1)


def table(results):
    lines = str(Compare(results)).splitlines()
    return [line.rstrip() for line in lines]


def test_a_table_has_rows_and_columns():
    results = [
        measure(
            [1e-6], TaskSpec("f", "pass", label="f", sub_label=name, description=size, num_threads=threads)
        )
        for name in ("a", "b")
        for size in ("small", "large")
        for threads in (1, 2)
        if (name, size) != ("b", "large")
    ]
    assert table(results) == [
        "[----------- f -----------]",
        "         |  small  |  large",
        "1 threads: ----------------",
        "      a  |   1.0   |   1.0",
        "      b  |   1.0   |",
        "2 threads: ----------------",
        "      a  |   1.0   |   1.0",
        "      b  |   1.0   |",
        "",
        "Times are in microseconds (us).",
    ]


def test_tables_by_label_environment_and_warning():
    tasks = [TaskSpec("f", "pass", label=label, env=env) for label in ("f", "g") for env in ("old", "new")]
    compare = Compare([measure([1e-3, 2e-3, 3e-3, 4e-3], task) for task in tasks])
    compare.highlight_warnings()
    text = str(compare)
    assert text.count("Times are in milliseconds") == 2
    assert "(old)" in text
    assert "(! 60%)" in text
    compare.colorize(rowwise=True)
    assert "\033[92m" in str(compare)
    with pytest.raises(ValueError, match="expected Measurements, got int"):
        compare.extend_results([1])


def test_counts_are_added_and_filtered():
    counts = FunctionCounts(
        (FunctionCount(30, "a.c:f [lib]"), FunctionCount(-10, "b.c:g [lib]")), inclusive=False
    )
    assert counts.sum() == 20
    assert (counts + counts).sum() == 40
    assert len(counts - counts) == 0
    assert (counts * 2)[0] == FunctionCount(60, "a.c:f [lib]")
    assert counts.transform(lambda name: "all")._data == (FunctionCount(20, "all"),)
    assert len(counts[1:]) == 1
    assert "Total: 20" in repr(counts)
    with pytest.raises(ValueError, match="inclusive"):
        counts + FunctionCounts((), inclusive=True)


def test_callgrind_files_are_read():
    text = """
        version: 1
        positions: line
        events: Ir
        ob=(1) /lib/a.so
        fl=(1) a.c
        fn=(1) f
        10 5
        fi=(2) a.h
        +1 7
        fe=(1)
        cob=(2) /lib/b.so
        cfi=(3) b.c
        cfn=(2) g
        calls=2 40
        12 100
        ob=(2)
        fl=(3)
        fn=(2)
        40 60
        cfn=(2)
        calls=1 40
        * 40
    """
    inclusive, exclusive = callgrind_file.parse(text.splitlines())
    f, g, header = "a.c:f [/lib/a.so]", "b.c:g [/lib/b.so]", "a.h:f [/lib/a.so]"
    assert exclusive == {f: 5, header: 7, g: 60}
    assert inclusive == {f: 112, g: 60}


def stats(counts):
    data = tuple(FunctionCount(n, name) for name, n in counts.items())
    both = FunctionCounts(data, True), FunctionCounts(data, False)
    return CallgrindStats(TASK, 10, True, *both, *both, "events: Ir")


def test_stats_compare_builds():
    one = stats(
        {
            "/usr/src/python/Objects/dictobject.c:lookdict_unicode [/usr/bin/python]": 5,
            "x/Python/ceval.c:run [p]": 10,
        }
    )
    other = stats({"/opt/Python/ceval.c:run [q]": 8})
    assert (one.counts(), one.counts(denoise=True)) == (15, 10)
    delta = one.as_standardized().delta(other.as_standardized())
    assert {name: n for n, name in delta} == {
        "Objects/dictobject.c:lookdict_unicode": 5,
        "Python/ceval.c:run": 2,
    }
    assert "Instructions:           15" in repr(one)


def test_what_may_be_copied():
    with pytest.raises(ValueError, match="lock can't be copied"):
        import threading

        CopyIfCallgrind(threading.Lock())
    wrapped = CopyIfCallgrind(tl_nn.Linear(1, 1), setup="    import math\n")
    assert wrapped.setup == "import math"
    assert CopyIfCallgrind.unwrap_all({"m": wrapped, "n": 1})["m"] is wrapped.value


def test_instructions_without_valgrind(monkeypatch):
    from tl_utils.benchmark.utils.valgrind_wrapper.timer_interface import wrapper_singleton

    monkeypatch.setattr(wrapper_singleton(), "_valgrind", None)
    with pytest.raises(OSError, match="valgrind isn't installed"):
        Timer("pass").collect_callgrind(1)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions():
    with pytest.raises(ValueError, match="wrapped in `CopyIfCallgrind`"):
        Timer("x", globals={"x": 1}).collect_callgrind()
    timer = Timer("y = x + k", globals={"x": CopyIfCallgrind(tl_core.ones(8)), "k": CopyIfCallgrind(5)})
    first, second = timer.collect_callgrind(20, repeats=2, retain_out_file=True)
    assert first.counts() == pytest.approx(second.counts(), rel=0.02)
    assert first.counts() > first.baseline_exclusive_stats.sum() > 0
    assert any("tl_core" in name for _, name in first.stats())
    assert "events: Ir" in first.stmt_callgrind_out
    with pytest.raises(OSError, match="NameError"):
        ClockFree("nothing").collect_callgrind(1)


class ClockFree(Timer):
    """Skips the run in this process, so that errors come from the other one."""

    def _timeit(self, number):
        return 1.0


def test_the_cost_of_a_measurement():
    assert timeit.timeit(lambda: Timer("pass"), number=100) / 100 < 5e-3
