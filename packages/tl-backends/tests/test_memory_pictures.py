"""`torch.cuda.memory`'s pictures, of the CPU's tensors: what the manual's page says of them."""

import inspect
import os
import pickle
import subprocess
import sys

import pytest

import tl_core
from tl_backends.cuda import memory


@pytest.fixture(autouse=True)
def off():
    yield
    memory._record_memory_history(None, clear_history=True)


def trace_of(size):
    return [e for e in memory._snapshot()["device_traces"][0] if e["size"] == size]


def test_a_snapshot_has_what_the_page_says(tmp_path):
    memory._record_memory_history(max_entries=100_000)
    x = tl_core.zeros(1500)
    path = tmp_path / "my_snapshot.pickle"
    memory._dump_snapshot(str(path))
    snapshot = pickle.loads(path.read_bytes())
    assert {"segments", "device_traces"} <= set(snapshot)
    (segment,) = [s for s in snapshot["segments"] if s["address"] == x.data_ptr()]
    assert {
        "address",
        "total_size",
        "stream",
        "segment_type",
        "allocated_size",
        "active_size",
        "blocks",
    } <= set(segment)
    assert segment["total_size"] == segment["allocated_size"] == segment["active_size"] == 6000
    assert segment["segment_type"] == "small"
    (block,) = segment["blocks"]
    assert {"size", "requested_size", "address", "state", "frames"} <= set(block)
    assert (block["size"], block["state"]) == (6000, "active_allocated")
    assert (
        set(block["frames"][0]) == {"filename", "line", "name"} and block["frames"][0]["filename"] == __file__
    )
    (entry,) = [e for e in snapshot["device_traces"][0] if e["size"] == 6000]
    assert entry["action"] == "alloc" and entry["addr"] == x.data_ptr() and entry["stream"] == 0
    assert snapshot["device_traces"][0][-1]["action"] == "snapshot"


def test_parts_of_the_trace_can_be_left_out():
    memory._record_memory_history(skip_actions=["free_requested"])
    x = tl_core.zeros(1501)
    del x
    assert [e["action"] for e in trace_of(6004)] == ["alloc", "free_completed"]
    memory._record_memory_history(skip_actions=["alloc"])
    assert [e["action"] for e in trace_of(6004)] == ["free_requested", "free_completed"]
    memory._record_memory_history(clear_history=True)
    assert trace_of(6004) == []
    with pytest.raises(ValueError, match="skip_actions"):
        memory._record_memory_history(skip_actions=["freeing"])


def test_the_older_form_is_understood():
    memory._record_memory_history(True, trace_alloc_max_entries=1000, trace_alloc_record_context=True)
    x = tl_core.zeros(1502)
    del x
    assert len(trace_of(6008)) == 3 and all(e["frames"] for e in trace_of(6008))
    memory._record_memory_history(False)
    tl_core.zeros(1503)
    assert trace_of(6012) == []
    names = list(inspect.signature(memory._record_memory_history).parameters)
    assert names[:5] == ["enabled", "context", "stacks", "max_entries", "device"]


def test_accelerators_and_wrong_words_are_refused(tmp_path):
    memory._record_memory_history(device="cpu")
    memory._snapshot("cpu")
    for call in (lambda: memory._record_memory_history(device="cuda"), lambda: memory._snapshot("cuda:0")):
        with pytest.raises(AssertionError, match="needs a device of type cuda"):
            call()
    with pytest.raises(ValueError, match="enabled"):
        memory._record_memory_history("some")
    with pytest.raises(OSError, match="nowhere"):
        memory._dump_snapshot(str(tmp_path / "nowhere" / "s.pickle"))
    assert os.listdir(tmp_path) == []


def test_programs_call_it_as_the_page_does(tmp_path):
    program = """
import tl_core, tl_backends.cuda.memory as memory
memory._record_memory_history()
kept = tl_core.ones(10, 10) @ tl_core.ones(10, 10)
memory._dump_snapshot()
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    snapshot = pickle.loads((tmp_path / "dump_snapshot.pickle").read_bytes())
    assert 400 in [b["size"] for s in snapshot["segments"] for b in s["blocks"]]
