"""Parts of the language of programs: hooks, interfaces in containers, dataclasses, element types, gradients."""

from __future__ import annotations

import dataclasses
import io
from typing import Any, Tuple  # noqa: UP035 - hooks of programs state their arguments so

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_core import Tensor


def again(program: Any) -> Any:
    """The program of the archive that a program writes."""
    data = io.BytesIO()
    program.save(data)
    data.seek(0)
    return jit.load(data)


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def add_one(self: Any, args: Tuple[Tensor]) -> Tuple[Tensor]:  # noqa: UP006 - the form of hooks
    return (args[0] + 1,)


def triple(self: Any, args: Tuple[Tensor], result: Tensor) -> Tensor:  # noqa: UP006 - the form of hooks
    return result * 3


def test_hooks_run_in_loaded_archives() -> None:
    module = Double()
    module.register_forward_pre_hook(add_one)
    module.register_forward_hook(triple)
    loaded = again(jit.script(module))
    assert loaded(tl.ones(2)).tolist() == [12.0, 12.0]
    assert loaded.forward(tl.ones(2)).tolist() == [2.0, 2.0]
    assert again(loaded)(tl.ones(2)).tolist() == [12.0, 12.0]


@jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor: ...


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ModuleList([Double(), Double(), nn.ReLU()])
        self.names = nn.ModuleDict({"a": Double(), "b": nn.ReLU()})

    def forward(self, x: Tensor, index: int, name: str):  # type: ignore[no-untyped-def]  # the compiler infers it
        first: Step = self.rows[index]
        second: Step = self.names[name]
        return second.forward(first.forward(x))


def test_an_index_chooses_a_module_of_an_interface() -> None:
    compiled = jit.script(Steps())
    for program in (compiled, again(compiled)):
        assert program(tl.tensor([-1.0, 1.0]), 0, "a").tolist() == [-4.0, 4.0]
        assert program(tl.tensor([-1.0, 1.0]), 2, "a").tolist() == [0.0, 2.0]
        assert program(tl.tensor([-1.0, 1.0]), -2, "b").tolist() == [0.0, 2.0]


class Slices(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.ModuleList([Double() for _ in range(4)])

    def forward(self, x: Tensor):  # type: ignore[no-untyped-def]  # the compiler infers it
        for row in self.rows[1:-1]:
            x = row(x)
        return self.rows[0](x) + self.rows[-1](x), len(self.rows)


def test_constant_indices_and_slices_of_modules() -> None:
    compiled = jit.script(Slices())
    for program in (compiled, again(compiled)):
        total, count = program(tl.ones(1))
        assert total.tolist() == [16.0] and count == 4


def scaled(x: Tensor, *, factor: int) -> Tensor:
    return x * factor


def call_by_keyword(x: Tensor) -> Tensor:
    return scaled(x, factor=3)


def test_arguments_by_keyword_only() -> None:
    assert jit.script(call_by_keyword)(tl.ones(1)).tolist() == [3.0]


@dataclasses.dataclass(order=True)
class Pair:
    x: int
    y: int = 2
    name: str = dataclasses.field(default="a", compare=False)

    def __post_init__(self) -> None:
        self.y = self.y + 1

    def total(self) -> int:
        return self.x + self.y


def pairs(a: int):  # type: ignore[no-untyped-def]  # the compiler infers it
    return (
        Pair(a).total(),
        Pair(1) < Pair(2),
        Pair(1, 3) >= Pair(1, 2),
        Pair(1, 2) == Pair(1, 2, "b"),
        Pair(1) > Pair(1),
    )


def test_dataclasses() -> None:
    compiled = jit.script(pairs)
    assert compiled(4) == (7, True, True, True, False) == pairs(4)
    assert again(compiled)(4) == (7, True, True, True, False)


@dataclasses.dataclass
class Rows:
    rows: list[int] = dataclasses.field(default_factory=list)


def rows() -> int:
    return len(Rows().rows)


def test_a_dataclass_with_a_factory_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"Default factory initializers.*Rows\.rows"):
        jit.script(rows)


def cast(x: Tensor, kind: int) -> Tensor:
    return x.to(kind)


def test_an_element_type_is_a_number_of_programs() -> None:
    compiled = jit.script(cast)
    assert compiled(tl.ones(1), tl.float64).dtype == tl.float64
    assert again(compiled)(tl.ones(1), tl.int32).dtype == tl.int32


def gradient(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    result = tl_autograd.grad([(x * x).sum()], [x])[0]
    assert result is not None
    return result


def gradient_by_backward(x: Tensor):  # type: ignore[no-untyped-def]  # the compiler infers it
    x = x.detach().requires_grad_(True)
    (x * x).sum().backward()
    return x.grad


@pytest.mark.parametrize("function", [gradient, gradient_by_backward])
def test_gradients_in_a_program(function: Any) -> None:
    compiled = jit.script(function)
    for program in (compiled, again(compiled)):
        assert program(tl.tensor([3.0])).tolist() == [6.0]
