"""Events of chosen times: their sums, their text and their table. PyTorch's own output is the reference."""

import pytest

from tl_autograd.profiler_kinds import DeviceType
from tl_autograd.profiler_table import build_table, format_memory, format_time, format_time_share
from tl_autograd.profiler_util import EventList, FormattedTimesMixin, FunctionEvent, FunctionEventAvg

TABLE = """\
-------  ------------  ------------  ------------  ------------  ------------  ------------  
   Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  
-------  ------------  ------------  ------------  ------------  ------------  ------------  
    add        73.33%      11.000us       100.00%      15.000us      15.000us             1  
    mul        26.67%       4.000us        26.67%       4.000us       4.000us             1  
-------  ------------  ------------  ------------  ------------  ------------  ------------  
Self CPU time total: 15.000us
"""  # noqa: W291 - PyTorch ends lines with spaces


def add_and_mul(**fields):
    """A product of 4 microseconds within a sum of 15."""
    events = EventList(
        [FunctionEvent(3, "add", 1, 10.0, 25.0, **fields), FunctionEvent(4, "mul", 1, 12.0, 16.0)]
    )
    events._build_tree()
    return events


def test_numbers_as_text():
    assert [format_time(t) for t in (0.5, 999.9, 1234.0, 2.5e6)] == [
        "0.500us",
        "999.900us",
        "1.234ms",
        "2.500s",
    ]
    assert format_time(2.5e6, "ms") == "2500.000ms"
    sizes = [format_memory(n) for n in (5, 1024, -1536, 3 << 20, 2 << 30)]
    assert sizes == ["5 B", "1.00 KB", "-1.50 KB", "3.00 MB", "2.00 GB"]
    assert format_time_share(1, 8) == "12.50%" and format_time_share(0, 0) == "NaN"
    with pytest.raises(AssertionError, match="Expected time_us == 0 but got 3"):
        format_time_share(3, 0)


def test_the_table_is_that_of_PyTorch():
    events = add_and_mul()
    assert build_table(events, sort_by="cpu_time_total") == TABLE == events.table() == str(events)
    assert build_table([]) == ""


def test_lines_of_a_table():
    events = add_and_mul()
    lines = build_table(events, sort_by="self_cpu_time_total", header="sums", row_limit=1).splitlines()
    assert set(lines[0]) == {"="} and lines[1] == "sums" and lines[5].split()[0] == "add" and len(lines) == 8
    top = build_table(events, top_level_events_only=True)
    assert "mul" not in top and "This report only display top-level ops statistics" in top
    assert "0.015ms" in build_table(events, time_unit="ms")
    short = build_table([FunctionEvent(0, "a" * 40, 1, 0.0, 1.0)], max_name_column_width=20).splitlines()[3]
    assert short.split()[0] == "a" * 17 + "..."


def test_further_columns():
    events = add_and_mul(cpu_memory_usage=2048, flops=3_000_000, input_shapes=[[2, 3]], overload_name="Tensor",
                         node_id=0)  # fmt: skip
    title, _, row, _ = build_table(events, with_flops=True, profile_memory=True).splitlines()[1:5]
    for text in ("Overload Name", "CPU Mem", "Self CPU Mem", "Total MFLOPs", "Input Shapes", "Node ID"):
        assert text in title
    assert "2.00 KB" in row and "3.000" in row and "[[2, 3]]" in row and "Tensor" in row
    stack = build_table(add_and_mul(stack=["inner.py(1): f", "outer.py(2): g"])).splitlines()
    assert "Source Location" in stack[1] and "inner.py(1): f" in stack[3] and "outer.py(2): g" in stack[4]


def test_own_time_and_memory_are_without_children():
    outer, inner = add_and_mul(cpu_memory_usage=100)
    inner.cpu_memory_usage = 30
    assert outer.cpu_children == [inner] and inner.cpu_parent is outer
    assert (outer.cpu_time_total, outer.self_cpu_time_total, outer.self_cpu_memory_usage) == (15.0, 11.0, 70)
    outer.use_device = inner.use_device = "cuda"
    outer.append_kernel("gemm", 0, 8.0)
    inner.append_kernel("copy", 0, 2.0)
    assert (outer.device_time_total, outer.self_device_time_total, outer.cuda_time) == (10.0, 8.0, 10.0)
    elsewhere = FunctionEvent(0, "gemm", 1, 0.0, 9.0, device_type=DeviceType.CUDA, cpu_memory_usage=3)
    assert elsewhere.cpu_time_total == elsewhere.self_cpu_time_total == elsewhere.self_cpu_memory_usage == 0
    for call in (outer.append_cpu_child, outer.set_cpu_parent):
        with pytest.raises(AssertionError, match="FunctionEvent, but got <class 'int'>"):
            call(3)


def test_times_of_any_class_as_text():
    class Times(FormattedTimesMixin):
        count, cpu_time_total, device_time_total = 4, 10.0, 2e6
        self_cpu_time_total, self_device_time_total = 1234.0, 0.0

    times = Times()
    assert (times.cpu_time, times.device_time, times.cpu_time_str) == (2.5, 5e5, "2.500us")
    assert (times.self_cpu_time_total_str, times.device_time_total_str) == ("1.234ms", "2.000s")
    Times.count = 0
    assert times.cpu_time == 0.0 == times.device_time


def test_sums_of_events():
    total = FunctionEventAvg()
    for start, length in ((0.0, 10.0), (50.0, 30.0)):
        total += FunctionEvent(0, "add", 1, start, start + length, cpu_memory_usage=8, flops=5)
    assert (total.key, total.count, total.cpu_time_total, total.cpu_time) == ("add", 2, 40.0, 20.0)
    assert (total.cpu_memory_usage, total.flops) == (16, 10)
    both = FunctionEventAvg().add(total).add(total)
    assert (both.count, both.cpu_time_total) == (4, 80.0)
    events = EventList([FunctionEvent(n, "add", 1, n, n + 1.0, input_shapes=[[n % 2]]) for n in range(3)])
    assert [(s.count, s.input_shapes) for s in events.key_averages()] == [(3, "")]
    assert [s.count for s in events.key_averages(group_by_input_shapes=True)] == [2, 1]
    assert events.total_average().key == "Total" and events.total_average().cpu_time_total == 3.0


def test_events_of_other_threads_are_no_children():
    events = EventList([FunctionEvent(0, "a", 1, 0.0, 9.0), FunctionEvent(1, "b", 2, 1.0, 2.0)])
    events._build_tree()
    assert events[0].cpu_children == [] and events.self_cpu_time_total == 10.0


def test_the_longer_of_two_events_with_one_start_is_outside():
    events = EventList([FunctionEvent(0, "inner", 1, 0.0, 2.0), FunctionEvent(1, "outer", 1, 0.0, 9.0)])
    events._build_tree()
    inner, outer = events
    assert inner.cpu_parent is outer and outer.cpu_children == [inner] and outer.cpu_parent is None
