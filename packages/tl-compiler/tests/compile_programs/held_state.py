"""Programs whose functions hold or change something: closures, globals, objects."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import types

import tl_core as tl

from .registry import program, x3

scale = 2.0
table = {"bias": 1.0, "kind": "add"}
history: list = []
settings = types.SimpleNamespace(power=2, on=True)
weight = tl.arange(3.0)
mode_names = ("sum", "mean")


@program(graphs=2)
def closure(compile):
    factor = 2

    def f(x):
        return x * factor

    f = compile(f)
    yield f(x3())
    factor = 3
    yield f(x3())
    factor = 2
    yield f(x3())


@program(graphs=1)
def closure_tensor_is_written(compile):
    value = x3()
    f = compile(lambda x: x * value)
    yield f(x3())
    value.add_(1)
    yield f(x3())


@program(graphs=1)
def closure_tensor_is_replaced(compile):
    value = x3()

    def f(x):
        return x * value

    f = compile(f)
    yield f(x3())
    value = x3() * 5
    yield f(x3())


@program(graphs=3)
def nonlocal_is_counted(compile):
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return x * calls

    f = compile(f)
    for _ in range(3):
        yield f(x3())
    yield calls


@program(graphs=2)
def global_number(compile):
    global scale

    def f(x):
        return x * scale

    f = compile(f)
    yield f(x3())
    scale = 5.0
    yield f(x3())
    scale = 2.0
    yield f(x3())


@program(graphs=1)
def global_tensor(compile):
    global weight

    def f(x):
        return x * weight

    f, before = compile(f), weight
    yield f(x3())
    weight = weight + 1
    yield f(x3())
    weight = before


@program(graphs=2)
def global_dict(compile):
    def f(x):
        return x + table["bias"]

    f = compile(f)
    yield f(x3())
    table["bias"] = 7.0
    yield f(x3())
    table["bias"] = 1.0
    yield f(x3())


@program()
def global_list_grows(compile):
    def f(x):
        history.append(len(history))
        return x + 1

    history.clear()
    f = compile(f)
    for _ in range(3):
        yield f(x3())
    yield list(history)


@program(graphs=3)
def global_is_assigned(compile):
    def f(x):
        global scale
        scale = scale + 1
        return x * scale

    f = compile(f)
    global scale
    for _ in range(3):
        yield f(x3())
    yield scale
    scale = 2.0


@program(graphs=2)
def namespace_attribute(compile):
    def f(x):
        return x**settings.power if settings.on else x

    f = compile(f)
    yield f(x3())
    settings.on = False
    yield f(x3() + 0) + 1
    settings.on, settings.power = True, 3
    yield f(x3())
    settings.power = 2


def helper(x):
    return x + 1


@program(graphs=2)
def a_helper_is_replaced(compile):
    global helper

    def f(x):
        return helper(x) * 2

    f, before = compile(f), helper
    yield f(x3())

    def helper(x):
        return x - 1

    yield f(x3())
    helper = before
    yield f(x3())


class Kind(enum.Enum):
    ADD = 1
    MUL = 2


@program(graphs=2)
def enumeration(compile):
    f = compile(lambda x, kind: x + 2 if kind is Kind.ADD else x * 2)
    for kind in (Kind.ADD, Kind.MUL, Kind.ADD):
        yield f(x3(), kind)


class Counted:
    calls = 0
    factor = 2

    def __init__(self):
        self.kept = []
        self.bias = 1.0

    def add(self, x):
        return x * self.factor + self.bias

    def count(self, x):
        Counted.calls += 1
        return x * Counted.calls

    def keep(self, x):
        self.kept.append(3)
        return x + len(self.kept)

    @property
    def doubled(self):
        return self.bias * 2

    @functools.cached_property
    def costly(self):
        return self.bias * 10

    def by_property(self, x):
        return x + self.doubled + self.costly


@program(graphs=3)
def object_attributes(compile):
    thing = Counted()
    f = compile(thing.add)
    yield f(x3())
    thing.bias = 4.0
    yield f(x3())
    Counted.factor = 5
    yield f(x3())
    Counted.factor = 2
    yield f(x3())


@program()
def class_attribute_is_counted(compile):
    Counted.calls = 0
    f = compile(Counted().count)
    for _ in range(3):
        yield f(x3())
    yield Counted.calls


@program()
def object_list_grows(compile):
    thing = Counted()
    f = compile(thing.keep)
    for _ in range(3):
        yield f(x3())
    yield thing.kept


@program()
def properties(compile):
    thing = Counted()
    f = compile(thing.by_property)
    yield f(x3())
    yield f(x3())
    thing.bias = 3.0
    yield f(x3())


@dataclasses.dataclass
class Options:
    size: int = 3
    kinds: tuple = ("a", "b")


@program(graphs=2)
def dataclass_argument(compile):
    f = compile(lambda x, options: x[: options.size] * len(options.kinds))
    options = Options()
    yield f(x3(), options)
    options.size = 2
    yield f(x3(), options)


@program()
def objects_made_inside(compile):
    f = compile(lambda x: x * Options(size=4).size)
    yield f(x3())
    yield f(x3())


Pair = collections.namedtuple("Pair", "first second")


@program(graphs=1)
def named_tuples(compile):
    f = compile(lambda pair: Pair(pair.second + 1, pair.first))
    yield f(Pair(x3(), x3() + 1)).first
    yield f(Pair(x3(), x3() + 2)).first


@program(graphs=2)
def partial(compile):
    bound = functools.partial(tl.add, alpha=2)
    f = compile(lambda x: bound(x, x))
    yield f(x3())
    bound.keywords["alpha"] = 3
    yield f(x3())


@program(graphs=0)
def cached_function(compile):
    calls = []

    @functools.lru_cache
    def costly(n):
        calls.append(n)
        return n * 2

    f = compile(lambda x: x * costly(3))
    yield f(x3())
    yield f(x3())
    yield len(calls)


@program()
def context_managers_of_the_program(compile):
    depth = []

    @contextlib.contextmanager
    def deeper():
        depth.append(1)
        yield len(depth)
        depth.pop()

    def f(x):
        with deeper() as n:
            return x * n

    f = compile(f)
    yield f(x3())
    depth.append(1)
    yield f(x3())


@program()
def sorted_by_a_function(compile):
    records = []

    def key(n):
        records.append(n)
        return -n

    f = compile(lambda x: x * sorted([1, 2, 3], key=key)[0])
    yield f(x3())
    yield f(x3())
    yield len(records)


@program(graphs=2)
def set_and_deque(compile):
    choices, recent = {"a"}, collections.deque([1, 2])
    f = compile(lambda x: x * len(choices) + sum(recent))
    yield f(x3())
    choices.add("b")
    recent.append(3)
    yield f(x3())


@program(graphs=2)
def a_global_function_changes_its_default(compile):
    def inner(x, k=2):
        return x * k

    f = compile(lambda x: inner(x))
    yield f(x3())
    inner.__defaults__ = (9,)
    yield f(x3())


@program()
def tensors_in_attributes(compile):
    class Cell:
        def __init__(self):
            self.state = tl.zeros(3)

        def step(self, x):
            self.state = self.state * 0.5 + x
            return self.state

    cell = Cell()
    f = compile(cell.step)
    for _ in range(3):
        yield f(x3())
    yield cell.state
