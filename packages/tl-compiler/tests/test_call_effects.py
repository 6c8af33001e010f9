"""What a call changes of what the program holds, and the new objects that it returns, at each call of its graph."""

import collections
import dataclasses
import types

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler
from tl_compiler.compat.dynamo.testing import CompileCounter
from tl_compiler.compiler.errors import Unsupported

total = 0


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


class Slotted:
    __slots__ = ("size",)


class Counter(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.last, self.steps = None, []
        self.register_buffer("sum", tl.zeros(3))

    def forward(self, x):
        Counter.calls = 3
        self.last = x * 2
        self.steps = [*self.steps[-1:], 1.0]
        self.sum += x
        return x + 1


def compiled_once(f, *calls):
    """The results of calls that one graph holds for, after a first one."""
    counter = CompileCounter()
    compiled = compiler.compile(f, backend=counter, fullgraph=True)
    results = [compiled(*args) for args in calls]
    return results, counter.frame_count


def test_attributes_buffers_and_classes():
    model, x = Counter(), tl.ones(3)
    _, graphs = compiled_once(model, (x,), (x,), (x,), (x,))
    assert model.last.tolist() == [2.0] * 3 and model.steps == [1.0, 1.0]
    assert model.sum.tolist() == [4.0] * 3 and Counter.calls == 3
    assert (
        graphs == 3
    )  # `last` and `steps` change what the next graph rests on until they have their last form
    Counter.calls = 0


def test_containers_of_the_program_and_of_the_arguments():
    values, table, queue, names = [], {"a": 1}, collections.deque(maxlen=2), set()

    def f(x, items):
        values[:] = [x + 1]
        table["b"] = x.shape
        table.pop("a", None)
        queue.appendleft(3)
        names.add("f")
        items.append(x)
        return items

    items = [tl.zeros(1)]
    results, _ = compiled_once(f, (tl.ones(2), items))
    assert results[0] is items and len(items) == 2 and values[0].tolist() == [2.0, 2.0]
    assert table == {"b": (2,)} and list(queue) == [3] and names == {"f"}


def test_variables_and_slots():
    number, slotted = 1, Slotted()

    def f(x):
        nonlocal number
        global total
        number = number * 2
        total = x.shape[0]
        slotted.size = 5
        return x * number

    results, _ = compiled_once(f, (tl.ones(2),), (tl.ones(2),))
    assert [r[0].item() for r in results] == [2.0, 4.0] and (number, total, slotted.size) == (4, 2, 5)


def test_a_changed_setting_of_the_thread():
    def f(x):
        tl.set_grad_enabled(False)
        return x * 2

    try:
        results, graphs = compiled_once(f, (tl.ones(2),))
        assert not tl.is_grad_enabled() and results[0].tolist() == [2.0, 2.0] and graphs == 1
    finally:
        tl.set_grad_enabled(True)


def test_results_of_many_kinds():
    shared = [1, 2]

    def f(x):
        inner = [x]
        point = Pair(x + 1, types.SimpleNamespace)

        def add(t):
            return t + x

        return (
            inner,
            inner,
            point,
            {1: {x.shape[0]}},
            shared,
            collections.deque([x], 4),
            add,
            (lambda: x.dtype),
        )

    results, graphs = compiled_once(f, (tl.ones(2),), (tl.ones(2),))
    for inner, again, point, sizes, same, queue, add, dtype in results:
        assert inner is again and inner[0].tolist() == [1.0, 1.0] and same is shared
        assert isinstance(point, Pair) and point.first.tolist() == [2.0, 2.0]
        assert sizes == {1: {2}} and queue.maxlen == 4 and add(1)[0].item() == 2.0 and dtype() is tl.float32
    assert graphs == 1 and results[0][0] is not results[1][0]


def test_what_can_not_be_built_again():
    with pytest.raises(Unsupported, match=r"the result has an object of builtins\.generator"):
        compiled_once(lambda x: (y for y in [x + 1]), (tl.ones(2),))

    def f(x):
        cycle = [x + 1]
        cycle.append(cycle)
        return cycle

    with pytest.raises(Unsupported, match="contains itself"):
        compiled_once(f, (tl.ones(2),))


def test_a_call_that_raises_leaves_no_change_of_the_capture():
    values = []

    def f(x):
        values.append(x)
        raise ValueError("no")

    compiled = compiler.compile(f, backend="eager")
    with pytest.raises(ValueError, match="no"):
        compiled(tl.ones(2))
    assert len(values) == 1


def test_a_function_that_changes_its_own_guards_runs_eagerly_after_some_graphs():
    counter, values = CompileCounter(), []

    def f(x):
        values.append(1)
        return x + len(values)

    compiled = compiler.compile(f, backend=counter)
    assert [compiled(tl.zeros(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert counter.frame_count == 3


def test_texts_of_sizes_make_no_wrong_result():
    compiled = compiler.compile(lambda x, n: (x + n, f"{n}", str(x.shape[0])), backend="eager", dynamic=True)
    for n in (3, 4):
        assert compiled(tl.ones(n), n)[1:] == (str(n), str(n))


def test_calls_with_changes_alone():
    counter, log = CompileCounter(), []

    def f(x):
        log.append(compiler.is_compiling())
        return x

    compiled, x = compiler.compile(f, backend=counter, fullgraph=True), tl.ones(1)
    assert compiled(x) is x and log == [True] and counter.frame_count == 0
