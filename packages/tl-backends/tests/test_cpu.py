"""Streams and events of the CPU, whose work is done when a call returns."""

import pytest

import tl_core
from tl_backends import cpu
from tl_backends.streams import Stream


def test_the_current_stream_changes_for_a_block():
    first, second = cpu.current_stream(), cpu.Stream()
    with cpu.stream(second) as entered:
        assert isinstance(entered, cpu.StreamContext)
        assert cpu.current_stream() is second
        with cpu.StreamContext(None):
            assert cpu.current_stream() is second
    assert cpu.current_stream() is first


def test_the_current_stream_returns_after_an_error():
    first = cpu.current_stream()
    with pytest.raises(KeyError), cpu.stream(cpu.Stream()):
        raise KeyError
    assert cpu.current_stream() is first


def test_streams_have_nothing_to_do():
    stream = cpu.Stream(priority=1)
    assert stream.query()
    assert stream.synchronize() is stream.wait_stream(stream) is stream.wait_event(None) is None
    event = stream.record_event()
    assert stream.record_event(event) is event
    assert event.query()
    assert event.synchronize() is event.wait() is None


def test_events_measure_time():
    start, end = cpu.Event(enable_timing=True), cpu.Event(enable_timing=True)
    start.record()
    sum(range(100_000))
    end.record()
    assert 0 < start.elapsed_time(end) < 60_000
    assert start.elapsed_time(end) == -end.elapsed_time(start)


def test_events_that_cannot_tell_the_time():
    timed = cpu.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="must be recorded"):
        timed.elapsed_time(cpu.Event(enable_timing=True))
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(cpu.Event())


def test_the_memory_of_the_cpu():
    value = cpu.memory_allocated()
    x = tl_core.zeros(1 << 20)
    assert cpu.memory_allocated() - value >= x.nbytes
    assert cpu.memory_stats()["allocated"] == cpu.memory_allocated() <= cpu.max_memory_allocated()
    assert any(group["filename"] == __file__ for group in cpu.memory_snapshot())
    cpu.set_memory_limit(cpu.memory_allocated() + 1000)
    try:
        with pytest.raises(tl_core.OutOfMemoryError, match=r"test_cpu\.py"):
            x.clone()
    finally:
        cpu.set_memory_limit(None)


def test_streams_of_other_devices_are_named_by_numbers():
    stream = Stream(stream_id=1, device_index=2, device_type=3)
    assert (stream.stream_id, stream.device_index, stream.device_type) == (1, 2, 3)
    assert str(stream.device) == "opengl:2" and "opengl, device_index=2, stream_id=1" in repr(stream)
    assert stream == Stream(stream_id=1, device_index=2, device_type=3) != Stream("cpu")
    assert len({stream, Stream(stream_id=1, device_index=2, device_type=3)}) == 1
    with pytest.raises(TypeError, match="device_index and device_type"):
        Stream(stream_id=1)
