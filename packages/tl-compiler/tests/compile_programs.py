"""Programs that call a function again and again while something changes: what they yield must not depend on whether the
function is compiled. Each gets a function that compiles, or gives back what it gets."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import random
import types

import numpy

import tl_autograd
import tl_core as tl
import tl_nn
import tl_nn.functional as F
from tl_core import autocast

PROGRAMS: dict = {}
scale = 2.0
table = {"bias": 1.0, "kind": "add"}
history: list = []
settings = types.SimpleNamespace(power=2, on=True)
weight = tl.arange(3.0)
mode_names = ("sum", "mean")


@contextlib.contextmanager
def amp_region(enabled=True):
    before = autocast.is_autocast_enabled("cpu")
    autocast.set_autocast_enabled("cpu", enabled)
    try:
        yield
    finally:
        autocast.set_autocast_enabled("cpu", before)


def program(graphs=None):
    """Notes a program; `graphs` is how many graphs its backend gets, where that is part of what is promised."""

    def note(function):
        PROGRAMS[function.__name__] = function, graphs
        return function

    return note


def x3():
    return tl.tensor([0.5, -1.5, 2.0])


# ---- inputs
@program(graphs=1)
def plain(compile):
    f = compile(lambda x: (x.sin() + 1).relu())
    for _ in range(3):
        yield f(x3())


@program(graphs=3)
def other_sizes(compile):
    f = compile(lambda x: x / x.shape[0] + x.numel())
    for n in (2, 3, 5, 3):
        yield f(tl.arange(float(n)))


@program(graphs=3)
def other_dtypes(compile):
    f = compile(lambda x: x * 2 + 1)
    for dtype in (tl.float32, tl.float64, tl.int64, tl.float32):
        yield f(tl.ones(3, dtype=dtype))


@program(graphs=2)
def other_strides(compile):
    f = compile(lambda x: x.is_contiguous() * x + x.reshape(-1)[:3])
    for x in (tl.arange(9.0).reshape(3, 3), tl.arange(9.0).reshape(3, 3).t()):
        yield f(x)


@program(graphs=2)
def requires_grad(compile):
    f = compile(lambda x: x * 2 if x.requires_grad else x * 3)
    yield f(x3())
    x = x3().requires_grad_()
    f(x).sum().backward()
    yield x.grad


@program(graphs=3)
def numbers(compile):
    f = compile(lambda x, n: x * n)
    for n in (1, 1.0, True, 1):
        yield f(x3().to(tl.int64), n)


@program(graphs=2)
def zeros_of_both_signs(compile):
    f = compile(lambda x, n: x * n)
    for n in (0.0, -0.0, 0.0):
        yield f(x3(), n).signbit()


@program()
def not_a_number(compile):
    f = compile(lambda x, n: x * (2 if n != n else 3))
    for n in (math.nan, 1.0, math.nan):
        yield f(x3(), n)


@program(graphs=2)
def texts(compile):
    def f(x, how):
        return x.sum() if how == "sum" else x.mean()

    f = compile(f)
    for how in ("sum", "mean", "sum"):
        yield f(x3(), how)


@program(graphs=2)
def keyword_and_default(compile):
    def f(x, *, times=2):
        return x * times

    f = compile(f)
    yield f(x3())
    yield f(x3(), times=5)
    yield f(x3())


@program(graphs=2)
def containers(compile):
    f = compile(lambda pair, named: {"out": [a * named["w"] for a in pair], "n": len(pair)})
    yield f([x3(), x3()], {"w": x3()})
    yield f([x3()], {"w": x3()})
    yield f([x3(), x3() + 1], {"w": x3()})


@program(graphs=2)
def same_tensor_twice(compile):
    def f(a, b):
        a.add_(1)
        return a * b if a is b else a - b

    f = compile(f)
    x = x3()
    yield f(x, x)
    yield x
    yield f(x3(), x3())


@program(graphs=1)
def views_of_one_tensor(compile):
    def f(a, b):
        a.mul_(2)
        return b + 1

    f = compile(f)
    for _ in range(2):
        x = tl.arange(6.0)
        yield f(x[:4], x[2:])
        yield x


@program()
def an_argument_list_grows(compile):
    def f(x, kept):
        kept.append(x * 2)
        return x + len(kept)

    f, kept = compile(f), []
    for _ in range(3):
        yield f(x3(), kept)
    yield kept


@program()
def the_argument_itself(compile):
    f = compile(lambda x, y: (x, y + 1))
    x = x3()
    out, _ = f(x, x3())
    yield out is x


@program()
def the_list_itself(compile):
    f = compile(lambda items: (items, items[0] + 1))
    items = [x3()]
    yield f(items)[0] is items


# ---- values decide
@program(graphs=0)
def branch_on_a_value(compile):
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    f = compile(f)
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def loop_on_a_value(compile):
    def f(x):
        n = 0
        while x.abs().max() > 1:
            x, n = x / 2, n + 1
        return x, n

    f = compile(f)
    yield f(x3() * 10)
    yield f(x3())


@program(graphs=0)
def item(compile):
    f = compile(lambda x: x * x.max().item())
    yield f(x3())
    yield f(x3() * 3)


@program(graphs=0)
def int_of_a_tensor(compile):
    f = compile(lambda x, n: x.repeat(int(n)))
    yield f(x3(), tl.tensor(2))
    yield f(x3(), tl.tensor(3))


@program(graphs=0)
def tolist(compile):
    f = compile(lambda x: [v * 2 for v in x.tolist()])
    yield f(x3())
    yield f(x3() + 1)


@program(graphs=0)
def numpy_of_a_tensor(compile):
    f = compile(lambda x: tl.from_numpy(numpy.sort(x.numpy())))
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def swallowed(compile):
    def f(x):
        try:
            if x.sum() > 0:
                return x + 1
        except Exception:
            return x * 100
        return x - 1

    f = compile(f)
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def a_value_of_what_is_held(compile):
    flag = tl.tensor(1.0)

    def f(x):
        return x + 1 if flag > 0 else x - 1

    f = compile(f)
    yield f(x3())
    flag.neg_()
    yield f(x3())


@program(graphs=0)
def sizes_that_values_decide(compile):
    def f(x):
        kept = x[x > 0]
        return kept[:2].sum() / kept.shape[0], kept.view(-1, 1), x.nonzero()[-1:]

    f = compile(f)
    for x in (x3(), tl.ones(5), tl.arange(4.0)):
        yield f(x)


@program(graphs=0)
def a_loop_over_sizes_that_values_decide(compile):
    f = compile(lambda x: sum(i * x for i in range(len(x.nonzero()))))
    yield f(x3())
    yield f(tl.tensor([0.0, 1.0, 0.0]))


@program(graphs=0)
def arrays_and_clocks(compile):
    import os
    import time

    table = numpy.arange(3.0)
    f = compile(lambda x: x + tl.tensor(table))
    yield f(x3())
    table[:] = 7
    yield f(x3())
    os.environ["TL_TEST_FACTOR"] = "2"
    g = compile(lambda x: x * float(os.environ.get("TL_TEST_FACTOR", "1")))
    yield g(x3())
    os.environ["TL_TEST_FACTOR"] = "3"
    yield g(x3())
    del os.environ["TL_TEST_FACTOR"]
    h = compile(lambda x: x * (time.perf_counter() > 0))
    yield h(x3())


@program(graphs=0)
def mask_selects(compile):
    f = compile(lambda x: x[x > 0] * 2)
    yield f(x3())
    yield f(-x3())


@program(graphs=0)
def equal(compile):
    f = compile(lambda x, y: x if tl.equal(x, y) else x - y)
    yield f(x3(), x3())
    yield f(x3(), x3() + 1)


@program(graphs=0)
def text_of_a_tensor(compile):
    f = compile(lambda x: (f"{x}", x + 1))
    yield f(x3())
    yield f(x3() + 1)


# ---- what the function holds
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
    held = x3()
    f = compile(lambda x: x * held)
    yield f(x3())
    held.add_(1)
    yield f(x3())


@program(graphs=1)
def closure_tensor_is_replaced(compile):
    held = x3()

    def f(x):
        return x * held

    f = compile(f)
    yield f(x3())
    held = x3() * 5
    yield f(x3())


@program(graphs=0)
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


@program(graphs=0)
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


# ---- modules
class Net(tl_nn.Module):
    def __init__(self):
        super().__init__()
        tl.manual_seed(1)
        self.first = tl_nn.Linear(3, 4)
        self.second = tl_nn.Linear(4, 2)
        self.flag, self.calls = True, 0
        self.register_buffer("seen", tl.zeros(()))

    def forward(self, x):
        x = self.first(x)
        return self.second(x.relu() if self.flag else x.tanh())


class CountedNet(Net):
    def forward(self, x):
        self.calls += 1
        self.seen += x.sum()
        return super().forward(x) * self.calls


def gradients(model, out):
    model.zero_grad()
    out.square().sum().backward()
    return [p.grad for p in model.parameters()]


@program(graphs=1)
def module_and_gradients(compile):
    model = Net()
    f = compile(model)
    for i in range(3):
        out = f(tl.full((2, 3), float(i)))
        yield out
        yield gradients(model, out)


@program(graphs=1)
def training(compile):
    model = Net()
    f = compile(model)
    optimizer = tl_nn.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = f(tl.ones(2, 3)).square().mean()
        loss.backward()
        optimizer.step()
        yield loss


@program(graphs=2)
def module_flag(compile):
    model = Net()
    f = compile(model)
    for flag in (True, False, True):
        model.flag = flag
        yield f(tl.ones(2, 3))


@program(graphs=1)
def parameters_are_replaced(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(2, 3))
    model.first.weight = tl_nn.Parameter(tl.ones(4, 3))
    yield f(tl.ones(2, 3))
    model.load_state_dict({k: v * 2 for k, v in model.state_dict().items()})
    yield f(tl.ones(2, 3))


@program(graphs=2)
def parameters_are_frozen(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(2, 3)).requires_grad
    model.requires_grad_(False)
    yield f(tl.ones(2, 3)).requires_grad


@program(graphs=2)
def a_layer_is_replaced(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(2, 3))
    model.second = tl_nn.Identity()
    yield f(tl.ones(2, 3))


@program()
def module_counts(compile):
    model = CountedNet()
    f = compile(model)
    for _ in range(3):
        yield f(tl.ones(2, 3))
    yield model.calls
    yield model.seen


@program(graphs=2)
def batch_norm(compile):
    model = tl_nn.Sequential(tl_nn.BatchNorm1d(3), tl_nn.ReLU())
    f = compile(model)
    for i in range(3):
        yield f(tl.arange(6.0).reshape(2, 3) * i)
    model.eval()
    yield f(tl.ones(2, 3))
    yield dict(model.state_dict())


@program(graphs=2)
def dropout(compile):
    model = tl_nn.Dropout(0.5)
    f = compile(model)
    tl.manual_seed(3)
    for _ in range(3):
        yield f(tl.ones(8))
    yield tl.rand(2)
    model.eval()
    yield f(tl.ones(8)) * 1


@program()
def hooks(compile):
    model, seen = Net(), []
    f = compile(model)
    yield f(tl.ones(1, 3))
    handle = model.first.register_forward_hook(lambda module, args, out: out * 2)
    yield f(tl.ones(1, 3))
    handle.remove()
    model.register_forward_pre_hook(lambda module, args: seen.append(1))
    yield f(tl.ones(1, 3))
    yield f(tl.ones(1, 3))
    yield len(seen)


@program()
def spectral_norm_counts(compile):
    tl.manual_seed(0)
    model = tl_nn.utils.parametrizations.spectral_norm(tl_nn.Linear(3, 3))
    f = compile(model)
    for _ in range(3):
        yield f(tl.ones(1, 3))


@program(graphs=1)
def lists_of_modules(compile):
    tl.manual_seed(0)
    layers = tl_nn.ModuleList(tl_nn.Linear(3, 3) for _ in range(3))

    def f(x):
        for layer in layers:
            x = layer(x).tanh()
        return x

    f = compile(f)
    yield f(tl.ones(1, 3))
    yield f(tl.zeros(1, 3))


@program(graphs=1)
def attention(compile):
    tl.manual_seed(0)
    model = tl_nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    f = compile(model)
    for _ in range(2):
        out = f(tl.ones(2, 3, 8))
        yield out
        yield gradients(model, out)


@program()
def lstm(compile):
    tl.manual_seed(0)
    model = tl_nn.LSTM(3, 4)
    f = compile(model)
    yield f(tl.ones(5, 2, 3))
    yield f(tl.zeros(5, 2, 3))


@program()
def embedding(compile):
    tl.manual_seed(0)
    model = tl_nn.Embedding(5, 3, padding_idx=0, max_norm=1.0)
    f = compile(model)
    yield f(tl.tensor([0, 1, 4]))
    yield f(tl.tensor([2, 2, 3]))
    yield model.weight


# ---- modes and settings
@program(graphs=2)
def no_grad(compile):
    f = compile(lambda x: x * 2)
    x = x3().requires_grad_()
    yield f(x).requires_grad
    with tl.no_grad():
        yield f(x).requires_grad
    yield f(x).requires_grad


@program(graphs=1)
def no_grad_inside(compile):
    def f(x):
        with tl.no_grad():
            a = x * 2
        return a * x

    f, x = compile(f), x3().requires_grad_()
    f(x).sum().backward()
    yield x.grad
    yield tl.is_grad_enabled()


@program(graphs=0)
def the_grad_mode_stays_changed(compile):
    def f(x):
        tl.set_grad_enabled(False)
        return x * 2

    f = compile(f)
    yield f(x3())
    yield tl.is_grad_enabled()
    tl.set_grad_enabled(True)


@program(graphs=2)
def default_dtype(compile):
    f = compile(lambda x: tl.ones(3) / 3 + x.to(tl.get_default_dtype()))
    yield f(x3())
    tl.set_default_dtype(tl.float64)
    try:
        yield f(x3())
    finally:
        tl.set_default_dtype(tl.float32)
    yield f(x3())


@program(graphs=2)
def autocast_around(compile):
    tl.manual_seed(0)
    model = Net()
    f = compile(lambda x: model(x).float().softmax(-1).sum() + (x @ x.t()).sum())
    x = tl.rand(2, 3)
    yield f(x)
    with amp_region():
        yield f(x)
    yield f(x)


@program(graphs=1)
def autocast_off_inside(compile):
    def f(x):
        with amp_region(False):
            a = x @ x
        return a, x @ x

    f = compile(f)
    for _ in range(2):
        with amp_region():
            yield f(tl.rand(3, 3, generator=tl.Generator().manual_seed(3)))


@program(graphs=1)
def random_numbers(compile):
    f = compile(lambda x: x + tl.rand(3) + tl.randn_like(x))
    tl.manual_seed(7)
    for _ in range(3):
        yield f(x3())
    yield tl.rand(1)


@program(graphs=1)
def a_random_number_nobody_uses(compile):
    def f(x):
        tl.rand(5)
        return x + 1

    f = compile(f)
    tl.manual_seed(7)
    yield f(x3())
    yield tl.rand(1)
    yield f(x3())
    yield tl.rand(1)


@program(graphs=0)
def pythons_random_numbers(compile):
    f = compile(lambda x: x * random.random())
    random.seed(1)
    for _ in range(3):
        yield f(x3())


@program(graphs=0)
def seeds(compile):
    def f(x):
        tl.manual_seed(3)
        return x + tl.rand(3)

    f = compile(f)
    for _ in range(2):
        yield f(x3())


@program(graphs=0)
def prints(compile):
    def f(x):
        print("called")
        return x + 1

    f = compile(f)
    for _ in range(3):
        yield f(x3())


@program(graphs=0)
def iterators(compile):
    numbers = itertools.count()
    f = compile(lambda x: x * next(numbers))
    for _ in range(3):
        yield f(x3())


@program(graphs=0)
def generators(compile):
    def f(x):
        for n in range(3):
            yield x * n

    f = compile(f)
    yield list(f(x3()))
    yield list(f(x3() + 1))


@program(graphs=0)
def gradients_inside(compile):
    def f(x):
        y = (x * x).sum()
        (g,) = tl_autograd.grad(y, x)
        return g

    f = compile(f)
    yield f(x3().requires_grad_())
    yield f((x3() + 1).requires_grad_())


@program(graphs=0)
def grad_is_read(compile):
    f = compile(lambda x: x * 2 if x.grad is None else x.grad)
    x = x3().requires_grad_()
    yield f(x)
    x.sum().backward()
    yield f(x)


class Doubled(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 100


@program(graphs=0)
def own_derivative(compile):
    f = compile(lambda x: Doubled.apply(x))
    for _ in range(2):
        x = x3().requires_grad_()
        f(x).sum().backward()
        yield x.grad


@program(graphs=1)
def in_place_on_the_input(compile):
    def f(x):
        x.add_(1)
        x[0] = 5
        return x * 2

    f = compile(f)
    for _ in range(3):
        x = x3()
        yield f(x)
        yield x


@program(graphs=1)
def in_place_on_an_intermediate(compile):
    def f(x):
        y = x * 1
        y[1:].mul_(3)
        y += 1
        return y

    f, x = compile(f), x3().requires_grad_()
    f(x).sum().backward()
    yield x.grad
    yield f(x)


@program(graphs=1)
def out_argument(compile):
    def f(x, out):
        tl.add(x, 1, out=out)
        return out * 2

    f, out = compile(f), tl.zeros(3)
    for i in range(3):
        yield f(x3() * i, out)
        yield out


@program()
def wrong_shapes_raise(compile):
    f = compile(lambda x, y: x + y)
    yield f(x3(), x3())
    try:
        f(x3(), tl.ones(2))
    except RuntimeError as error:
        yield str(error)
    yield f(x3(), x3())


@program()
def own_errors_raise(compile):
    def f(x, n):
        if n > 1:
            raise ValueError(f"n is {n}")
        return x * n

    f = compile(f)
    yield f(x3(), 1)
    for _ in range(2):
        try:
            f(x3(), 2)
        except ValueError as error:
            yield str(error)


@program()
def a_probe_that_fails(compile):
    def f(x, y):
        try:
            return x @ y
        except RuntimeError:
            return x * 2

    f = compile(f)
    yield f(x3(), x3())
    yield f(x3(), tl.ones(2))
    yield f(x3(), tl.ones(2))


@program(graphs=1)
def constants_of_the_program(compile):
    f = compile(lambda x: (x + tl.tensor([1.0, 2.0, 3.0]), 7, None, "text", x.dtype))
    for _ in range(2):
        yield f(x3())


@program()
def nothing_but_the_input(compile):
    f = compile(lambda x: x)
    yield f(x3())


@program(graphs=1)
def nested_compiled(compile):
    inner = compile(lambda x: x * 3)
    f = compile(lambda x: inner(x) + 1)
    yield f(x3())
    yield f(x3())


@program()
def recursion(compile):
    def fold(x, n):
        return x if n == 0 else fold(x * 2, n - 1)

    f = compile(fold)
    yield f(x3(), 3)
    yield f(x3(), 2)


@program()
def subclass_of_tensor(compile):
    class Named(tl.Tensor):
        pass

    f = compile(lambda x: x * 2)
    yield type(f(x3().as_subclass(Named))).__name__
    yield type(f(x3())).__name__


@program()
def sparse_input(compile):
    f = compile(lambda x: (x * 2).to_dense())
    yield f(tl.eye(3).to_sparse())


@program()
def many_lengths(compile):
    f = compile(lambda x: x.sum() / len(x))
    for n in range(1, 14):
        yield f(tl.arange(float(n)))


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
    seen = []

    def key(n):
        seen.append(n)
        return -n

    f = compile(lambda x: x * sorted([1, 2, 3], key=key)[0])
    yield f(x3())
    yield f(x3())
    yield len(seen)


@program(graphs=2)
def set_and_deque(compile):
    chosen, recent = {"a"}, collections.deque([1, 2])
    f = compile(lambda x: x * len(chosen) + sum(recent))
    yield f(x3())
    chosen.add("b")
    recent.append(3)
    yield f(x3())


@program()
def vmap_around(compile):
    from tl_autograd.func import vmap

    f = compile(lambda x: x.sum() * 2)
    yield vmap(f)(tl.arange(6.0).reshape(2, 3))
    yield f(x3())


@program(graphs=1)
def functional_layers(compile):
    w = tl.arange(18.0).reshape(2, 1, 3, 3)
    f = compile(lambda x: F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2))
    for i in range(2):
        yield f(tl.arange(16.0).reshape(1, 1, 4, 4) * i)


@program(graphs=2)
def a_global_function_changes_its_default(compile):
    def inner(x, k=2):
        return x * k

    f = compile(lambda x: inner(x))
    yield f(x3())
    inner.__defaults__ = (9,)
    yield f(x3())


@program(graphs=2)
def a_method_is_patched(compile):
    model = Net()
    f = compile(model)
    yield f(tl.ones(1, 3))
    before = Net.forward
    Net.forward = lambda self, x: self.first(x)
    try:
        yield f(tl.ones(1, 3))
    finally:
        Net.forward = before


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


@program(graphs=1)
def higher_derivatives(compile):
    f = compile(lambda x: (x**3).sum())
    x = x3().requires_grad_()
    (g,) = tl_autograd.grad(f(x), x, create_graph=True)
    (h,) = tl_autograd.grad(g.sum(), x)
    yield g
    yield h
