"""Subclasses of ScriptModule, texts that define methods, overloads, and containers that programs share with Python."""

# ruff: noqa: F811 - overloads have the name of the function

import copy
import enum
import io

import pytest

import tl_autograd  # noqa: F401 - gradients of parameters
import tl_core as tl
import tl_nn
from tl_compiler import jit
from tl_compiler.jit.internal import _overload, _overload_method


class Scaled(jit.ScriptModule):
    def __init__(self, n: int):
        super().__init__()
        self.linear = tl_nn.Linear(n, n)
        self.factor = 3

    @jit.script_method
    def scale(self, x):
        return x * self.factor

    @jit.script_method
    def forward(self, x):
        return self.scale(self.linear(x))


class Repeated(jit.ScriptModule):
    __constants__ = ("times",)

    def __init__(self):
        super().__init__()
        self.inner, self.times = Scaled(2), 2
        self.register_buffer("shift", tl.ones(2))

    @jit.script_method
    def forward(self, x):
        for _ in range(self.times):
            x = self.inner(x) + self.shift
        return x

    def words(self):
        return "of Python"


def by_hand(model, x):
    linear = model.inner.linear
    for _ in range(2):
        x = 3 * (x @ linear.weight.t() + linear.bias) + 1
    return x


def test_objects_are_of_their_class_and_of_a_program():
    model, x = Repeated(), tl.ones(1, 2)
    assert (
        isinstance(model, Repeated)
        and isinstance(model, jit.ScriptModule)
        and type(model).__name__ == "Repeated"
    )
    assert model.words() == "of Python" and model.times == 2
    assert list(model.state_dict()) == ["shift", "inner.linear.weight", "inner.linear.bias"]
    tl.testing.assert_close(model(x), by_hand(model, x))
    model(x).sum().backward()
    assert model.inner.linear.weight.grad is not None
    assert "torch.add" in model.code


def test_archives_and_copies():
    model, x = Repeated(), tl.ones(1, 2)
    loaded = jit.load(io.BytesIO(model.save_to_buffer()))
    assert tl.equal(loaded(x), model(x)) and tl.equal(copy.deepcopy(model)(x), model(x))
    with pytest.raises(RuntimeError, match="comes from a program, which takes no further methods"):
        loaded.define("def more(self):\n    return 1")


def test_other_programs_take_them():
    class Outer(tl_nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Scaled(2)

        def forward(self, x):
            return self.inner(x)

    model, x = Outer(), tl.ones(1, 2)
    assert tl.equal(jit.script(model)(x), model(x))
    assert tl.equal(jit.trace(model, (x,))(x), model(x))


def test_subclasses_of_subclasses():
    class Shifted(Scaled):
        def __init__(self):
            super().__init__(2)
            self.shift = 1

        @jit.script_method
        def shifted(self, x):
            return self.forward(x) + self.shift

    model, x = Shifted(), tl.ones(1, 2)
    assert tl.equal(model.shifted(x), model(x) + 1)


def test_texts_define_methods():
    module = jit.ScriptModule()
    module.define("def increment(self, a: int):\n    return a + 1")
    assert module.increment(2) == 3
    module.define(
        """
        def twice(self, a: int):
            return self.increment(a) * 2
        """
    )
    assert module.twice(2) == 6 and module.increment(2) == 3


def test_errors_point_into_the_method():
    class Wrong(jit.ScriptModule):
        @jit.script_method
        def forward(self, x):
            return x + missing_name  # noqa: F821

    with pytest.raises(RuntimeError, match=r"undefined value missing_name(.|\n)*<--- HERE"):
        Wrong()


@_overload
def doubled(x: int) -> int: ...


@_overload
def doubled(x: float, times: int = 2) -> float: ...


@_overload
def doubled(x: tl.Tensor) -> tl.Tensor: ...


def doubled(x, times=2):
    return x * times


def test_overloads_of_functions():
    @jit.script
    def all_kinds(a: int, b: float, c):
        return doubled(a), doubled(b), doubled(b, 3), doubled(c)

    integer, number, tripled, tensor = all_kinds(2, 1.5, tl.ones(1))
    assert (integer, number, tripled) == (4, 3.0, 4.5) and type(integer) is int and tensor.tolist() == [2.0]

    def text(a: str):
        return doubled(a)

    with pytest.raises(
        RuntimeError, match="Expected a value of type 'int' for argument 'x' but instead found type 'str'"
    ):
        jit.script(text)


def test_overloads_of_methods():
    class Model(tl_nn.Module):
        @_overload_method
        def next(self, x: int) -> int: ...

        @_overload_method
        def next(self, x: tl.Tensor) -> tl.Tensor: ...

        def next(self, x):
            return x + 1

        def forward(self, x, n: int):
            return self.next(x), self.next(n)

    tensor, number = jit.script(Model())(tl.zeros(1), 4)
    assert tensor.tolist() == [1.0] and number == 5


def test_overloads_without_an_implementation():
    @_overload
    def lonely(x: int) -> int: ...

    def call(a: int):
        return lonely(a)

    with pytest.raises(RuntimeError, match="has overloads but no implementation"):
        jit.script(call)


def test_containers_are_shared():
    @jit.script
    def extended(x: list[int]):
        x.append(3)
        return len(x)

    numbers = jit.script([1, 2])
    assert extended(numbers) == 3 and list(numbers) == [1, 2, 3]
    for wrong in (
        lambda: numbers.append("a"),
        lambda: numbers.extend([1, 2.0]),
        lambda: numbers.insert(0, None),
    ):
        with pytest.raises(TypeError, match="holds values of type int"):
            wrong()
    assert list(numbers) == [1, 2, 3]
    table = jit.script({"a": 1})
    table["b"] = table.setdefault("c", 5)
    table.update(d=4)
    assert dict(table) == {"a": 1, "c": 5, "b": 5, "d": 4}
    with pytest.raises(TypeError, match="holds values of type str, got int"):
        table[3] = 4
    for empty in ([], {}):
        with pytest.raises(RuntimeError, match=r"torch\.jit\.script"):
            jit.script(empty)


class Mode(enum.Enum):
    FIRST = "first"
    LAST = "last"


class Tree(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = tl_nn.Linear(2, 2), tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.ReLU())
        self.mode = Mode.LAST
        self.memory = False

    def forward(self, x: tl.Tensor | list[tl.Tensor]) -> tuple[tl.Tensor, tl.Tensor, list[str]]:
        if isinstance(x, tl.Tensor):
            parts = [x]
        else:
            parts = x
        if self.memory:
            if jit.is_scripting():
                raise RuntimeError("not in a program")
            y = self.closure(parts)
        else:
            y = parts[0]
        for child in self.children():
            y = child(y)
        total = tl.zeros(1)
        for p in self.parameters():
            total = total + p.sum()
        names: list[str] = []
        for name, _ in self.named_modules():
            names.append(name)
        return y, total, names

    def closure(self, parts: list[tl.Tensor]) -> tl.Tensor:
        def inner(*parts):
            return parts[0]

        return inner(*parts)


def test_modules_below_a_module_and_members_of_enumerations():
    model, x = Tree(), tl.randn(1, 2)
    file = io.BytesIO()
    scripted = jit.script(model)
    jit.save(scripted, file)
    file.seek(0)
    loaded = jit.load(file)
    by_hand = tl.relu(model.b[0](model.a(x)))
    total = sum(p.sum() for p in (model.a.weight, model.a.bias, model.b[0].weight, model.b[0].bias))
    for program in (scripted, loaded):
        y, sums, names = program(x)
        assert tl.equal(y, by_hand) and tl.allclose(sums, total)
        assert names == ["", "a", "b", "b.0", "b.1"]
    assert scripted.mode is Mode.LAST and loaded.mode.value == "last" and loaded.mode.name == "LAST"


@jit.script
def sizes(x: tl.Tensor, y: tl.Tensor):
    shape = x.shape[:-1] + (-1,)  # noqa: RUF005 - the sum of a list and a tuple
    return x.reshape(shape), tl.tensordot(x, y, ([1, 2], [1, 0])), tl.tensordot(x, y, 1)


def test_tuples_beside_lists_and_dimensions_of_products():
    x, y = tl.arange(12.0).reshape(1, 3, 4), tl.arange(12.0).reshape(4, 3)
    flat, both, one = sizes(x, y)
    assert flat.shape == (1, 3, 4)
    assert both.tolist() == [sum(x[0, i, j].item() * y[j, i].item() for i in range(3) for j in range(4))]
    assert tl.equal(one[0], x[0] @ y)
    with pytest.raises(
        RuntimeError, match="dims must be a number that is constant, or two lists, got Tensor"
    ):

        @jit.script
        def wrong(x: tl.Tensor, y: tl.Tensor):
            return tl.tensordot(x, y, y)
