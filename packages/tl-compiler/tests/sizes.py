"""Programs exported at one size and run at others: each is right at every size of its range, or it is refused and the
range that the error suggests is one in which it is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tl_core as tl
import tl_nn as nn
from tl_compiler.export import Dim, export
from tl_compiler.symbolic.errors import UserError

FAR = (13, 17, 31, 64)


class Program(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def suggested(error: UserError, name: str = "b") -> Any:
    """The dimension that an error suggests: a Dim, one derived from another, or the one size that is allowed."""
    text = str(error)
    assert "Suggested fixes:" in text, text
    lines = dict(re.findall(r"^  (\w+) = (.+)$", text.partition("Suggested fixes:")[2], re.MULTILINE))
    assert name in lines, text
    scope: dict[str, Any] = {"Dim": Dim}
    for other, value in lines.items():
        if other != name:
            scope[other] = eval(value, dict(scope))
    result = lines[name]
    scope.setdefault(f"_{name}", Dim(f"_{name}", min=2, max=1 << 20))
    return eval(result, scope)


def in_range(dim: Any, sizes: Sequence[int]) -> list[int]:
    """Of sizes those that a dimension allows."""
    if isinstance(dim, int):
        return [dim]
    if getattr(dim, "root", None) is not None:
        return [n for n in sizes if n in {dim.fn(k) for k in range(max(dim.root.min, 2), 200)}]
    return [n for n in sizes if dim.min <= n <= dim.max]


def check(
    function: Callable[..., Any],
    inputs: Callable[[int], tuple[Any, ...]],
    dims: Callable[[Any], Any],
    example: int,
    least: int = 2,
    may_raise: bool = False,
) -> str:
    """Exports at an example size and compares with the function itself at the sizes of the range.

    Args:
        function: the program.
        inputs: its inputs at a size.
        dims: what is dynamic, from the dimension.
        example: the size of the trace.
        least: the low end of the range.
        may_raise: whether the function may raise at some sizes, at which the program then raises, too.

    Returns:
        `right`, or the range in which it is.
    """
    dim: Any = Dim("b", min=least)
    text = "right"
    module = Program(function)
    try:
        function(*inputs(example))
    except RuntimeError:
        return "raises"
    for _ in range(4):
        try:
            program = export(module, inputs(example), dynamic_shapes={"args": dims(dim)})
            break
        except UserError as error:
            dim = suggested(error)
            text = (
                str(dim)
                if isinstance(dim, int)
                else f"[{getattr(dim, 'min', '?')}, {getattr(dim, 'max', '?')}]"
            )
            if isinstance(dim, int):
                assert dim == example, error
                program = export(module, inputs(example))
                break
    else:
        raise AssertionError("no suggestion is one that exports")
    run = program.module()
    for size in in_range(dim, [*range(least, 13), *FAR]):
        argument = inputs(size)
        try:
            want = function(*argument)
        except (RuntimeError, IndexError, ValueError) as error:
            if may_raise and _raises(run, argument):
                continue
            raise AssertionError(f"size {size} is in the range, and raises: {error}") from error
        same(run(*argument), want, f"at {size}, exported at {example}")
    return text


def _raises(run: Callable[..., Any], inputs: tuple[Any, ...]) -> bool:
    try:
        run(*inputs)
    except (RuntimeError, IndexError, ValueError):
        return True
    return False


def same(got: Any, want: Any, where: str) -> None:
    """Asserts that results are the same."""
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for g, w in zip(got, want, strict=True):
            same(g, w, where)
    elif isinstance(want, dict):
        assert got.keys() == want.keys(), where
        same(list(got.values()), list(want.values()), where)
    elif isinstance(want, tl.Tensor):
        assert got.shape == want.shape, f"{where}: {tuple(got.shape)}, not {tuple(want.shape)}"
        assert got.dtype == want.dtype, where
        assert tl.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True), f"{where}: {got} is not {want}"
    else:
        assert got == want, f"{where}: {got} is not {want}"


def used(z: Any) -> tuple[Any, ...]:
    """A tensor, and what programs do with its sizes."""
    return z, z + tl.zeros(z.shape), tl.full((), sum(z.shape)), tl.ones(z.numel())
