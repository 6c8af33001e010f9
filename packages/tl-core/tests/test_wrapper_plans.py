"""Plans of calls with wrapper subclasses: what runs without the handler, and what still asks it."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from typing import ClassVar

import pytest

import tl_core as tl
from tl_core import Tensor
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_core.subclasses.wrapper_plans import WrapperLayout, WrapperPlans, enroll_layout, keep_plan, plan_calls
from tl_core.testing import assert_close


class Label(WrapperLayout):
    """A layout: a text, and the plans of its calls."""

    def __init__(self, text: str, plans: WrapperPlans, equal: Label | None = None):
        self.text, self.plans, self.equal = text, plans, equal
        self.asked = 0

    def enroll(self) -> None:
        self.asked += 1
        enroll_layout(self, self.plans, self.equal or self)


class Labelled(Tensor):
    """A tensor with a label. The handler keeps a plan of each call that has one."""

    handled: ClassVar[list[str]] = []
    handles_kernels_only = True
    value: Tensor
    label: Label

    @staticmethod
    def __new__(cls, value, label):
        self = Tensor._make_wrapper_subclass(cls, value.shape, value.stride(), dtype=value.dtype)
        self.value, self.label = value, label
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        Labelled.handled.append(str(func))
        label = next(a for a in _flat((args, kwargs)) if isinstance(a, Labelled)).label
        inner = tree_map(lambda a: a.value if isinstance(a, Labelled) else a, (args, kwargs or {}))
        results = func(*inner[0], **inner[1])
        if func._schema.is_mutable:
            keep_plan(func._native_name, None, {})
            return args[0]
        tensors = [r for r in _flat(results) if isinstance(r, Tensor)]
        keep_plan(func._native_name, tuple((label, r.shape, r.stride(), 0) for r in tensors), {})
        return tree_map(lambda r: Labelled(r, label) if isinstance(r, Tensor) else r, results)


plan_calls(Labelled, "value", "label")


def _flat(values):
    if isinstance(values, (list, tuple)):
        return [item for value in values for item in _flat(value)]
    return list(values.values()) if isinstance(values, dict) else [values]


def labelled(*shape, text="a"):
    size = math.prod(shape)
    return Labelled(tl.arange(float(size)).reshape(shape), Label(text, WrapperPlans()))


@pytest.fixture(autouse=True)
def handled():
    Labelled.handled.clear()
    return Labelled.handled


def test_the_second_call_runs_without_the_handler(handled):
    x = labelled(2, 3)
    for _ in range(3):
        y = x + x
        assert type(y) is Labelled and y.label is x.label and y.shape == (2, 3)
        assert_close(y.value, x.value * 2)
    assert handled == ["aten.add.Tensor"]
    assert len(x.label.plans) == 1 and x.label.asked == 1


CALLS = {
    "other layout": lambda x, y: (x + x, x + y),
    "other number": lambda x, y: (x * 2.0, x * 3.0),
    "kind of number": lambda x, y: (x * 1, x * 1.0),
    "complex number": lambda x, y: (x * 1j, x * 2j),
    "bool": lambda x, y: (x.sum(0, keepdim=True), x.sum(0, keepdim=False)),
    "list": lambda x, y: (x.permute(0, 1), x.permute(1, 0)),
    "dtype": lambda x, y: (x.to(tl.float64), x.to(tl.int32)),
    "text": lambda x, y: (x.div(x + 1, rounding_mode="floor"), x.div(x + 1, rounding_mode="trunc")),
    "length of a list": lambda x, y: (tl.cat([x, x]), tl.cat([x, x, x])),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_differ_have_plans_of_their_own(name):
    x, y = labelled(3, 3), labelled(3, 3, text="b")
    plain = CALLS[name](x.value, y.value)
    for _ in range(3):
        for result, expected in zip(CALLS[name](x, y), plain, strict=True):
            assert result.value.dtype == expected.dtype == result.dtype
            assert result.shape == expected.shape
            assert result.value.tolist() == expected.tolist()


def test_several_results_and_lists(handled):
    x = labelled(4, 3)
    for _ in range(2):
        values, indices = x.max(dim=0)
        assert values.value.tolist() == [9.0, 10.0, 11.0] and indices.value.tolist() == [3, 3, 3]
        assert [part.value.tolist() for part in x[:2].unbind()] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        assert tl.cat([x, x]).shape == (8, 3)
    assert len(handled) == len(set(handled))


def test_writes_change_the_inner_tensor_and_count(handled):
    x = labelled(3)
    for count in range(1, 4):
        before = x._version
        assert x.add_(1) is x
        assert x._version == before + 1
        assert x.value.tolist() == [count + i for i in range(3)]
    assert len(handled) == 1


def test_views_share_memory_and_know_their_base():
    x = labelled(2, 3)
    for count in range(1, 4):
        view = x.t()
        assert view._is_view() and view._base is x
        view.add_(1)
        assert x.value[0, 1].item() == 1 + count
        assert view.value.data_ptr() == x.value.data_ptr()


def test_an_equal_layout_finds_the_plans(handled):
    first = labelled(3)
    first + first
    twin = Labelled(first.value, Label("a", first.label.plans, equal=first.label))
    twin + twin
    stranger = Labelled(first.value, Label("a", first.label.plans))
    stranger + stranger
    assert handled == ["aten.add.Tensor"] * 2


def test_attributes_that_change_are_seen():
    x = labelled(3)
    x + x
    x.value = tl.ones(3)
    assert (x + x).value.tolist() == [2.0, 2.0, 2.0]
    x.label = Label("b", WrapperPlans())
    assert (x + x).label.text == "b"
    del x.value
    with pytest.raises(AttributeError, match="value"):
        x + x


def test_modes_see_every_call(handled):
    class Seen(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    x = labelled(3)
    x + x
    with Seen() as record:
        assert (x + x).value.tolist() == [0.0, 2.0, 4.0]
    assert record.calls == 1
    assert handled == ["aten.add.Tensor"]


def test_tensors_of_other_classes_ask_the_handler(handled):
    class Derived(Labelled):
        pass

    x = labelled(3)
    derived = Derived(x.value, x.label)
    for _ in range(2):
        x + tl.ones(3)
        derived + derived
    assert handled == ["aten.add.Tensor"] * 4


def test_an_inner_tensor_of_a_class_is_handled_by_it(handled):
    class Loud(Tensor):
        calls = 0

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            Loud.calls += 1
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = Labelled(tl.ones(3).as_subclass(Loud), Label("a", WrapperPlans()))
    for _ in range(2):
        before = Loud.calls
        x * x
        assert Loud.calls > before
    assert handled == ["aten.mul.Tensor"]


def test_errors_are_the_operators_own():
    x, y = labelled(2, 3), labelled(2, 3)
    y.label = x.label
    tl.mm(x, Labelled(x.value.t(), x.label))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes"):
            tl.mm(x, y)


def test_random_generators_and_long_arguments_ask_the_handler(handled):
    x = Labelled(tl.ones(3), Label("a", WrapperPlans()))
    generator = tl.Generator()
    for _ in range(2):
        x.bernoulli(generator=generator)
        tl.cat([x] * 40)
    assert len(handled) == 4


def test_a_plan_outside_a_handler_is_none():
    label = Label("a", WrapperPlans())
    assert not keep_plan("add.Tensor", ((label, (3,), (1,), 0),), {})
    x = labelled(3)

    class Wrong(Labelled):
        pass

    plan_calls(Wrong, "value", "label")

    def handler(cls, func, types, args=(), kwargs=None):
        assert not keep_plan("mul.Tensor", ((x.label, (3,), (1,)),), {})
        assert not keep_plan("add.Tensor", ((x.label, (3,), (1,)),), {"length": [1]})
        with pytest.raises(TypeError, match="tuple"):
            keep_plan("add.Tensor", [], {})
        with pytest.raises(TypeError, match="WrapperLayout"):
            keep_plan("add.Tensor", ((1, (3,), (1,)),), {})
        with pytest.raises(ValueError, match="length"):
            keep_plan("add.Tensor", ((x.label, (3,), ()),), {})
        keep_plan("add.Tensor", (), {})
        return args[0]

    Wrong.__torch_dispatch__ = classmethod(handler)
    wrong = Wrong(x.value, x.label)
    wrong + wrong
    with pytest.raises(RuntimeError, match="fewer results"):
        wrong + wrong


def test_bad_arguments():
    with pytest.raises(TypeError, match="derived from Tensor"):
        plan_calls(int, "value", "label")
    with pytest.raises(TypeError):
        enroll_layout(1, WrapperPlans(), 1)


def test_cleared_plans_ask_again(handled):
    x = labelled(3)
    x + x
    x.label.plans.clear()
    assert len(x.label.plans) == 0
    x + x
    assert handled == ["aten.add.Tensor"] * 2


def test_a_layout_in_its_own_plans_is_collected():
    x = labelled(3)
    x + x
    alive = weakref.ref(x.label)
    del x
    gc.collect()
    assert alive() is None


def test_threads_share_plans():
    x = labelled(64)
    expected = (x.value * 3).tolist()
    failures = []

    def work():
        for _ in range(100):
            if (x + x + x).value.tolist() != expected:
                failures.append(threading.current_thread())
            x.label.plans.clear()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
