"""The history of tensors' memory: what is alive, what happened, and what a failure leaves."""

import pickle
import sys
import threading

import pytest

import tl_core as tl
from tl_core.memory import history as history


@pytest.fixture(autouse=True)
def off():
    yield
    history.dump_on_out_of_memory(None)
    history.record_memory_history(None)


def actions(snapshot):
    return [e["action"] for e in snapshot["device_traces"][0]]


def test_allocations_and_frees_name_their_lines():
    history.record_memory_history()
    x = tl.zeros(1000)
    size = 4000
    (block,) = [b for s in history.snapshot()["segments"] for b in s["blocks"] if b["size"] == size]
    assert block["address"] == x.data_ptr() and block["state"] == "active_allocated"
    assert block["frames"][0]["filename"] == __file__ and "test_allocations" in block["frames"][0]["name"]
    del x
    snapshot = history.snapshot()
    assert not [s for s in snapshot["segments"] if s["total_size"] == size]
    mine = [e for e in snapshot["device_traces"][0] if e["size"] == size]
    assert [e["action"] for e in mine] == ["alloc", "free_requested", "free_completed"]
    assert mine[1]["frames"][0]["filename"] == __file__
    assert mine[0]["time_us"] <= mine[1]["time_us"] and mine[0]["addr"] == mine[2]["addr"]


@pytest.mark.parametrize("elements", [1, 100, 10**5, 10**6])
def test_blocks_of_every_size_come_and_go(elements):
    history.record_memory_history()
    x = tl.zeros(elements, dtype=tl.uint8)
    values = {s["address"]: s["total_size"] for s in history.snapshot()["segments"]}
    assert values[x.data_ptr()] == elements
    x.untyped_storage().resize_(elements + 7)
    values = {s["address"]: s["total_size"] for s in history.snapshot()["segments"]}
    assert values[x.data_ptr()] == elements + 7
    address = x.data_ptr()
    del x
    assert address not in {s["address"] for s in history.snapshot()["segments"]}


def test_what_is_wanted_is_chosen():
    history.record_memory_history("state", context=None)
    x = tl.zeros(10)
    snapshot = history.snapshot()
    assert actions(snapshot) == ["snapshot"] and snapshot["segments"][-1]["frames"] == []
    history.record_memory_history(None)
    history.record_memory_history("all", context="alloc", max_entries=2)
    for _ in range(5):
        x = tl.zeros(10)
    snapshot = history.snapshot()
    assert len(actions(snapshot)) <= 5 and snapshot["forgotten"] > 0 and x.numel() == 10
    assert all(not e["frames"] for e in snapshot["device_traces"][0] if e["action"].startswith("free"))
    for wrong in ({"enabled": "some"}, {"context": "some"}, {"stacks": "c++"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            history.record_memory_history(**wrong)


def test_without_it_nothing_is_recorded():
    assert not history.is_recorded()
    history.record_memory_history()
    assert history.is_recorded()
    history.record_memory_history(None)
    before = len(actions(history.snapshot()))
    tl.zeros(10)
    assert len(actions(history.snapshot())) == before


def test_threads_and_modules_are_told():
    history.record_memory_history()
    tl._C._set_memory_scope("encoder.2")
    try:
        values = [tl.zeros(3)]
    finally:
        tl._C._set_memory_scope("")
    other = threading.Thread(target=lambda: values.append(tl.zeros(5)))
    other.start()
    other.join()
    result = {s["address"]: s["blocks"][0] for s in history.snapshot()["segments"]}
    assert result[values[0].data_ptr()]["module"] == "encoder.2"
    assert any("test_memory_history" in f["filename"] for f in result[values[1].data_ptr()]["frames"])


def test_a_failure_leaves_a_snapshot(tmp_path, monkeypatch):
    path = tmp_path / "failed.pickle"
    history.record_memory_history()
    history.dump_on_out_of_memory(path)
    x = tl.zeros(100)
    with pytest.raises(tl.OutOfMemoryError, match=r"A snapshot of the memory is in .*failed\.pickle"):
        tl.empty(1 << 50)
    snapshot = pickle.loads(path.read_bytes())
    (failure,) = [e for e in snapshot["device_traces"][0] if e["action"] == "oom"]
    assert failure["size"] == 4 << 50 and failure["frames"][0]["filename"] == __file__
    assert x.data_ptr() in {s["address"] for s in snapshot["segments"]}
    history.dump_on_out_of_memory(tmp_path / "nowhere" / "failed.pickle")
    failures = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: failures.append(told.exc_type))
    with pytest.raises(tl.OutOfMemoryError) as error:
        tl.empty(1 << 50)
    assert "snapshot" not in str(error.value) and failures == [FileNotFoundError]


def test_files_are_whole_or_not_there(tmp_path):
    history.record_memory_history()
    history.dump_snapshot(tmp_path / "s.pickle")
    assert set(pickle.loads((tmp_path / "s.pickle").read_bytes())) >= {"segments", "device_traces"}
    with pytest.raises(OSError, match="nowhere"):
        history.dump_snapshot(tmp_path / "nowhere" / "s.pickle")
    assert [p.name for p in tmp_path.iterdir()] == ["s.pickle"]
