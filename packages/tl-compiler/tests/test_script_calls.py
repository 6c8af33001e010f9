"""Calls of programs: arguments, errors with positions, type comments, hooks, setters, frozen parts."""

import io
import typing

import pytest

import tl_core
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.scripting.type_comments import parse_source


def reloaded(program):
    buffer = io.BytesIO()
    jit.save(program, buffer)
    buffer.seek(0)
    return jit.load(buffer)


def last_entry(values: typing.List[int], names: typing.Dict[str, int], scale: float):  # noqa: UP006 - programs write these
    values.append(4)
    return names["a"] * scale + values[-1]


def absent_entry(names: typing.Dict[str, int]):  # noqa: UP006
    return names["b"]


def outer(x, n: int):
    total = x * n
    return total + absent_entry({"a": n})


def test_arguments_are_checked_and_copied():
    program, values = jit.script(last_entry), [1]
    assert program(values, {"a": 2}, 3) == 10.0 and values == [1]
    assert program(values=(1,), names={"a": 2}, scale=0.5) == 5.0
    shared = jit.script([1])
    program(shared, {"a": 1}, 1.0)
    assert list(shared) == [1, 4]
    message = (
        r"Expected a value of type 'List\[int\]' for argument 'values' but instead found type 'List\[str\]'"
    )
    with pytest.raises(RuntimeError, match=message):
        program(["x"], {"a": 1}, 1.0)
    with pytest.raises(RuntimeError, match="missing value for argument 'scale'"):
        program([1], {"a": 1})


def test_members_of_unions_are_checked():
    def f(x: typing.Union[str, int, typing.List[int]]) -> str:  # noqa: UP006, UP007
        return "text"

    program = jit.script(f)
    assert program("a") == program(1) == program([1]) == "text"
    with pytest.raises(
        RuntimeError, match=r"Expected a member of Union\[List\[int\], int, str\] .* List\[str\]"
    ):
        program(["a"])


def test_errors_name_the_lines_of_the_source():
    with pytest.raises(jit.Error) as caught:
        jit.script(outer)(tl_core.ones(2), 3)
    text = str(caught.value)
    assert text.startswith("The following operation failed in the TorchScript interpreter.")
    assert text.index("return total + absent_entry") < text.index('return names["b"]')
    assert text.endswith("RuntimeError: KeyError: b") and "<--- HERE" in text
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(jit.Error, match=r"serialized code(.|\n)*code/.*line \d+, in forward"):
        reloaded(jit.script(outer))(tl_core.ones(2), 3)


def test_exceptions_of_the_process_stay_what_they_are():
    @jit.ignore
    def stop(x) -> int:
        raise NotImplementedError("later")

    def f(x):
        return stop(x)

    with pytest.raises(NotImplementedError, match="later"):
        jit.script(f)(tl_core.ones(1))


def commented(pair, names):
    # type: (Tuple[int, List[int]], Dict[str, int]) -> int
    first, rest = pair
    return first + rest[0] + names["a"]


def commented_apart(
    x,  # type: int
    y,  # type: float
):
    # type: (...) -> float
    return x + y


def test_types_in_comments():
    assert jit.script(commented)((1, [2]), {"a": 3}) == 6
    assert jit.script(commented_apart)(1, 0.5) == 1.5
    node = parse_source("def f(x, n):\n    # type: (Tensor, str)\n    return x\n").body[0]
    assert node.returns is None and node.args.args[1].annotation.id == "str"
    with pytest.raises(SyntaxError, match="states 3 types for 2 arguments"):
        parse_source("def f(x, n):\n    # type: (int, int, int) -> int\n    return x\n")


def test_numbers_come_first_in_arithmetic_of_tensors():
    unit = jit.CompilationUnit("def f(x, n: int):\n    return n * x + 2 / x - (1 - x)\n")
    x = tl_core.tensor([1.0, 4.0])
    assert tl_core.equal(unit.f(x, 3), 3 * x + 2 / x - (1 - x)) and "-> Tensor" in unit.f.code


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) * 10


def double_before(self, inputs: typing.Tuple[tl_core.Tensor]) -> tl_core.Tensor:  # noqa: UP006
    return inputs[0] * 2


def negate_after(self, inputs: typing.Tuple[tl_core.Tensor], output):  # noqa: UP006
    return -output


def test_hooks_of_parts_run_in_the_program():
    model = Outer()
    model.inner.register_forward_pre_hook(double_before)
    model.inner.register_forward_hook(negate_after)
    x = tl_core.tensor([1.0, 2.0])
    assert tl_core.equal(jit.script(model)(x), model(x))
    assert tl_core.equal(reloaded(jit.script(model))(x), tl_core.tensor([-30.0, -50.0]))


class Limited(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = 1

    @property
    def limit(self) -> int:
        return self.value

    @limit.setter
    def limit(self, value: int):
        self.value = min(value, 5)

    def forward(self, x, n: int):
        self.limit = n
        return x * self.limit


def test_setters_of_properties():
    program = jit.script(Limited())
    assert program(tl_core.ones(1), 9).item() == 5.0 and program.value == 5


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.total = tl_core.zeros(2)
        self.step = [1, 2]

    def forward(self, x):
        self.total.add_(x)
        return self.total * self.step[1]


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.counted, self.plain = Counted(), nn.Linear(2, 2)

    def forward(self, x):
        return self.counted(self.plain(x))


def test_what_a_method_writes_stays_an_attribute():
    source = Counting().eval()
    frozen = jit.freeze(jit.script(source))
    assert [name for name, _ in frozen.named_children()] == ["counted"]
    assert frozen._c.counted.hasattr("total") and not frozen._c.counted.hasattr("step")
    x = tl_core.ones(2)
    first = frozen(x)
    assert tl_core.equal(frozen(x), first * 2)
    value = jit.freeze(jit.script(Counting().eval()), ["plain", "counted.step"])
    assert value._c.hasattr("plain") and value._c.plain.hasattr("weight") and value._c.counted.hasattr("step")


def test_former_meanings_survive_a_freeze():
    program = jit.CompilationUnit("def f(a, b):\n    return torch.div(a, b)\n").f
    program._program.archive.version = 3
    a, b = tl_core.tensor([7]), tl_core.tensor([2])
    frozen = jit.freeze(reloaded(program).eval())
    assert program(a, b).item() == 3 and frozen(a, b).item() == 3 and reloaded(frozen)(a, b).item() == 3

    def mixed(a, b):
        return program(a, b) + a / b

    with pytest.raises(RuntimeError, match="version 3 uses div with a former meaning"):
        jit.script(mixed)
