"""Names of torch._utils, torch.utils._pytree and torch.multiprocessing that programs use."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from multiprocessing.reduction import ForkingPickler

import pytest

import tl_core
from tl_core import multiprocessing, pytree
from tl_core.base.weak import WeakIdKeyDictionary, _WeakHashRef
from tl_core.compat.device_context import set_device
from tl_core.compat.utils import render_call


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
    records = []

    @set_device("meta")
    def steps():
        try:
            result = yield tl_core.empty(1).device.type
            records.append((result, tl_core.empty(1).device.type))
            yield 2
        except KeyError:
            records.append(tl_core.empty(1).device.type)
            yield 3
        finally:
            records.append("end")
        return 4

    generator = steps()
    assert next(generator) == "meta"
    assert tl_core.empty(1).device.type == "cpu"
    assert generator.send("sent") == 2
    assert generator.throw(KeyError()) == 3
    with pytest.raises(StopIteration) as ended:
        next(generator)
    assert ended.value.value == 4
    assert records == [("sent", "meta"), "meta", "end"]
    closed = steps()
    next(closed)
    closed.close()
    assert records[-1] == "end"


def test_names_of_threads():
    result = []

    def work():
        multiprocessing._set_thread_name("a name")
        result.append(multiprocessing._get_thread_name())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert result == ["a name"]
    assert multiprocessing._get_thread_name() != "a name"


def test_tensors_without_memory_are_sent():
    x = tl_core.empty(3, 4, device="meta", dtype=tl_core.float64).t()
    y = pickle.loads(ForkingPickler.dumps(x))
    assert (y.device.type, y.shape, y.stride(), y.dtype) == ("meta", x.shape, x.stride(), x.dtype)


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n


def test_weak_dictionaries_are_joined_and_copied():
    a, b = Key(1), Key(2)
    first, second = WeakIdKeyDictionary({a: [1]}), WeakIdKeyDictionary({a: [2], b: [3]})
    assert dict(first | second) == {a: [2], b: [3]}
    assert dict({b: [4]} | first) == {b: [4], a: [1]}
    assert isinstance({b: 0} | first, WeakIdKeyDictionary)
    with pytest.raises(TypeError):
        first | [1]
    deep, shallow = copy.deepcopy(second), copy.copy(second)
    assert deep[a] == second[a]
    assert deep[a] is not second[a]
    assert shallow[a] is second[a]
    first |= second
    assert first[b] == [3]
    assert {r() for r in first.keyrefs()} == {a, b}
    popped = [first.popitem()[0] for _ in range(2)]
    assert {id(k) for k in popped} == {id(a), id(b)}
    with pytest.raises(KeyError):
        first.popitem()
    del a, popped
    gc.collect()
    assert list(second) == [b]


def test_references_by_the_keys_own_hash():
    a = Key(1)
    by_identity, by_hash = WeakIdKeyDictionary({a: 1}), WeakIdKeyDictionary({a: 1}, ref_type=_WeakHashRef)
    assert Key(1) not in by_identity
    assert by_hash[Key(1)] == 1
    assert by_hash.copy()[Key(1)] == 1
    del a
    gc.collect()
    assert len(by_hash) == 0
    missing = [_WeakHashRef(Key(1)) for _ in range(2)]
    gc.collect()
    assert missing[0] != missing[1]
