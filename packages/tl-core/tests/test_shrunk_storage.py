"""A storage that is made smaller under its tensors: what would read or write behind its end raises."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tl_core as tl
from tl_core import fft
from tl_core.tensors import dlpack

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen import collect

BEYOND = "out of bounds for storage of size"


def shrunk(to=0):
    """Eight numbers on a storage of so many bytes."""
    t = tl.arange(8.0)
    t.untyped_storage().resize_(to)
    return t


def test_every_operator_is_asked():
    script = Path(__file__).parent / "shrunk_calls.py"
    process = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    lines = process.stdout.splitlines()
    assert process.returncode == 0, (lines[-1:], process.stderr[-2000:])
    rows = {row.name: row for row in collect.rows()}
    reading = {n for n, row in rows.items() if row.reads_elements}
    answered = {line.split()[1] for line in lines if line.startswith("answered")}
    assert answered & reading == set()
    assert int(lines[-1].split()[1]) > 1000


def in_numpy(t):
    pytest.importorskip("numpy", reason="the array is numpy's")
    return t.numpy()


USES = {
    "add": lambda t: t + 1,
    "in place": lambda t: t.mul_(2),
    "fill": lambda t: t.fill_(1),
    "sum": lambda t: t.sum(),
    "item": lambda t: t[0].item(),
    "float": lambda t: float(t[0]),
    "truth": lambda t: bool(t[0]),
    "tolist": lambda t: t.tolist(),
    "repr": repr,
    "numpy": in_numpy,
    "buffer": memoryview,
    "dlpack": lambda t: t.__dlpack__(),
    "from_dlpack": lambda t: dlpack.from_dlpack(t),
    "tensor of a list": lambda t: tl.tensor([t, t]),
    "tensor of it": lambda t: tl.tensor(t),
    "index": lambda t: t[tl.tensor([0, 1])],
    "mask": lambda t: t[t > 0],
    "setitem": lambda t: t.__setitem__(0, 1.0),
    "a view of a view": lambda t: t.view(2, 4)[1].clone(),
    "out": lambda t: tl.add(tl.ones(8), tl.ones(8), out=t),
    "matmul": lambda t: t @ tl.ones(8),
    "cat": lambda t: tl.cat([t, t]),
    "sort": lambda t: t.sort(),
    "to": lambda t: t.to(tl.float64),
    "clone": lambda t: t.clone(),
    "copy into it": lambda t: t.copy_(tl.ones(8)),
    "copy of it": lambda t: tl.ones(8).copy_(t),
    "complex": lambda t: tl.complex(t, t),
    "equal": lambda t: tl.equal(t, tl.ones(8)),
    "foreach": lambda t: tl._foreach_add([t, t], 1),
    "sparse": lambda t: t.to_sparse(),
    "contiguous of a stride": lambda t: t[::2].contiguous(),
    "random": lambda t: t.normal_(),
    "fft": lambda t: fft.fft(t),
    "conjugated": lambda t: tl.view_as_complex(t.view(4, 2)).conj().resolve_conj(),
    "share_memory_": lambda t: t.share_memory_() + 1,
}


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_use_raises(use):
    with pytest.raises(RuntimeError, match=BEYOND):
        use(shrunk())


@pytest.mark.parametrize("use", ["add", "sum", "repr", "numpy", "dlpack", "clone", "tolist"])
def test_the_last_element_lies_behind_the_end(use):
    with pytest.raises(RuntimeError, match=BEYOND):
        USES[use](shrunk(28))


def test_what_lies_inside_is_read():
    t = tl.arange(8.0)
    first, last = t[:2], t[6:]
    t.untyped_storage().resize_(8)
    assert t[0].item() == 0.0 and t[::9].tolist() == [0.0]
    assert first.tolist() == [0.0, 1.0] and (first + 1).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match=BEYOND):
        last.sum()
    assert t.shape == (8,) and tl.empty_like(t).shape == (8,) and tl.zeros_like(t).sum() == 0
    t.untyped_storage().resize_(32)
    assert (t[:2] * 2).tolist() == [0.0, 2.0]


def test_resize_makes_it_whole():
    t = shrunk()
    t.resize_(3).fill_(2.0)
    assert t.tolist() == [2.0] * 3


def test_another_thread_is_told():
    t, records = shrunk(), []

    def read():
        try:
            t.sum()
        except RuntimeError as error:
            records.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert BEYOND in records[0]


def test_the_values_of_a_sparse_tensor():
    values = tl.ones(3)
    t = tl.sparse_coo_tensor(tl.tensor([[0, 1, 2]]), values, (4,))
    t._values().untyped_storage().resize_(0)
    for use in (lambda: t.to_dense(), lambda: t + t, lambda: t * 2, lambda: repr(t), lambda: t.coalesce()):
        with pytest.raises(RuntimeError, match=BEYOND):
            use()
