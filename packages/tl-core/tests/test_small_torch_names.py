"""Names of torch._utils, torch.utils._pytree and torch.multiprocessing that programs use."""

from __future__ import annotations

import pickle
import threading
from multiprocessing.reduction import ForkingPickler

import pytest

import tl_core
from tl_core import multiprocessing, pytree
from tl_core.torch_names.device_context import set_device
from tl_core.torch_names.utils import render_call


def test_calls_are_shown_with_sizes():
    x = tl_core.ones(2, 3)
    text = render_call(tl_core.sum, [x], {"dim": 0, "others": [x]})
    assert text == "torch.sum(tensor([...], size=(2, 3)), dim=0, others=[tensor([...], size=(2, 3))])"


def test_leaves_of_a_type():
    tree = {"a": [1, -2], "b": ("x", 3)}
    assert not pytree.tree_all_only(int, lambda n: n > 0, tree)
    assert pytree.tree_any_only(int, lambda n: n < 0, tree)
    assert pytree.tree_all_only(str, lambda s: s == "x", tree)
    assert pytree.tree_all_only(float, lambda f: False, tree)


def test_generators_run_on_a_device_between_their_steps():
    seen = []

    @set_device("meta")
    def steps():
        try:
            got = yield tl_core.empty(1).device.type
            seen.append((got, tl_core.empty(1).device.type))
            yield 2
        except KeyError:
            seen.append(tl_core.empty(1).device.type)
            yield 3
        finally:
            seen.append("end")
        return 4

    generator = steps()
    assert next(generator) == "meta"
    assert tl_core.empty(1).device.type == "cpu"
    assert generator.send("sent") == 2
    assert generator.throw(KeyError()) == 3
    with pytest.raises(StopIteration) as ended:
        next(generator)
    assert ended.value.value == 4
    assert seen == [("sent", "meta"), "meta", "end"]
    closed = steps()
    next(closed)
    closed.close()
    assert seen[-1] == "end"


def test_names_of_threads():
    found = []

    def work():
        multiprocessing._set_thread_name("a name")
        found.append(multiprocessing._get_thread_name())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["a name"]
    assert multiprocessing._get_thread_name() != "a name"


def test_tensors_without_memory_are_sent():
    x = tl_core.empty(3, 4, device="meta", dtype=tl_core.float64).t()
    y = pickle.loads(ForkingPickler.dumps(x))
    assert (y.device.type, y.shape, y.stride(), y.dtype) == ("meta", x.shape, x.stride(), x.dtype)
