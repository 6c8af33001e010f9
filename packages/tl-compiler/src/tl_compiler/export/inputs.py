"""The example inputs of an export: what stands for each, and the symbols of their sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tl_core
from tl_core.subclasses import FakeTensor, FakeTensorMode

from ..symbolic.dims import DimDynamic
from ..symbolic.errors import UserError, UserErrorType
from ..symbolic.expression import Expr, Integer, Symbol
from ..symbolic.ranges import ValueRanges, int_oo
from ..symbolic.shape_env import ShapeEnv
from .dynamic_shapes import Dim, _DerivedDim, _DimHint, _DimHintType, _StaticDim

__all__ = ["DimOfInput", "Inputs"]


@dataclass
class DimOfInput:
    """A dynamic dimension of an input: what was said of it, and its expression.

    Args:
        source: where the input comes from.
        path: its path among the arguments.
        dim: the dimension.
        said: what the program said of it.
        expr: its expression.
        hint: its size in the example.
    """

    source: str  # as errors name it: L['x'].size()[0]
    path: str
    dim: int
    said: Any  # a Dim or a hint
    expr: Expr
    hint: int


@dataclass
class Inputs:
    """Makes fakes of inputs, with symbols where sizes are dynamic.

    Args:
        env: the environment that makes symbols.
        dims: what was said of dimensions, nested as the arguments.
        roots: symbols by the name of their dimension.
        named: dimensions by the name that was given.
        problems: what doesn't fit so far.
        fixes: what would make it fit.
    """

    mode: FakeTensorMode
    dims: list[DimOfInput] = field(default_factory=list)
    roots: dict[str, Symbol] = field(default_factory=dict)
    named: dict[str, Dim] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)  # names, what is wrong
    fixes: list[str] = field(default_factory=list)
    _fakes: dict[int, FakeTensor] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)

    @property
    def env(self) -> ShapeEnv:
        """The environment of the symbols."""
        return self.mode.shape_env

    def fake(self, leaf: Any, shape: Any, path: str) -> Any:
        """What stands for an input.

        Args:
            leaf: the input.
            shape: what was said of it.
            path: where it stands among the arguments.

        Returns:
            A fake for a tensor, a symbolic int for an int that was said to be dynamic, else the value itself.
        """
        source = f"L{path}"
        if isinstance(leaf, bool) or not isinstance(leaf, (tl_core.Tensor, int)):
            return leaf
        if isinstance(leaf, int):
            return self._number(leaf, shape, source, path)
        if isinstance(leaf, FakeTensor):
            return leaf
        held = self._fakes.get(id(leaf))
        if held is not None:
            return held
        if isinstance(shape, _DimHint):
            shape = dict.fromkeys(range(leaf.dim()), shape)
        said = dict(enumerate(shape)) if isinstance(shape, (tuple, list)) else (shape or {})
        sizes = [self._size(n, said.get(i), source, path, i) for i, n in enumerate(leaf.shape)]
        stands = self.mode.from_tensor(leaf, static_shapes=True)
        made = self._fakes[id(leaf)] = self.mode.symbolic.give_sizes(stands, sizes)
        self._held.append(leaf)
        return made

    def _number(self, value: int, said: Any, source: str, path: str) -> Any:
        if not isinstance(said, (_DimHint, Dim)) or (
            isinstance(said, _DimHint) and said.type is _DimHintType.STATIC
        ):
            return value
        e = self.env.create_symbol(value, source, DimDynamic.DYNAMIC, None, None, True)
        if isinstance(e, Symbol):
            low, high = getattr(said, "min", None), getattr(said, "max", None)
            held = self.env.var_to_range[e]
            bounds = ValueRanges(held.lower if low is None else low, held.upper if high is None else high)
            self.env.var_to_range[e] = bounds
        self.dims.append(DimOfInput(source, path, -1, said, e, value))
        return self.env.create_symintnode(e, hint=value)

    def _size(self, n: int, said: Any, source: str, path: str, i: int) -> Expr:
        where = f"{source}.size()[{i}]"
        if said is None or (isinstance(said, _DimHint) and said.type is _DimHintType.STATIC):
            return Integer(n)
        if isinstance(said, (int, _StaticDim)):
            wanted = said.value if isinstance(said, _StaticDim) else said
            if wanted != n:
                raise UserError(
                    UserErrorType.INVALID_INPUT,
                    f"Static shape constraint of {wanted} does not match input size of {n}, for "
                    f"`inputs{path}.shape[{i}]`",
                )
            return Integer(n)
        e = self._hinted(n, said, where) if isinstance(said, _DimHint) else self._named_size(n, said, where)
        self.dims.append(DimOfInput(where, path, i, said, e, n))
        return e

    def _hinted(self, n: int, said: _DimHint, where: str) -> Expr:
        e = self.env.create_symbol(n, where, DimDynamic.DYNAMIC)
        if isinstance(e, Symbol):
            low = 2 if said.min is None else max(said.min, 2)
            high = int_oo if said.max is None else said.max
            if not low <= n <= high and n > 1:
                raise UserError(
                    UserErrorType.INVALID_INPUT, f"{where} is {n}, outside of its range: {said!r}"
                )
            self.env.var_to_range[e] = ValueRanges(low, high)
            if (said.min or 0) < low:
                self.env.assumed[e] = said.min or 0
        return e

    def _named_size(self, n: int, said: Dim, where: str) -> Expr:
        root = said.root if isinstance(said, _DerivedDim) else said
        self.named.setdefault(root.__name__, root)
        factor, offset = (said.factor, said.offset) if isinstance(said, _DerivedDim) else (1, 0)
        hint, left = divmod(n - offset, factor)
        if left or not said.min <= n <= said.max:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f'Constraints violated ({said.__name__})! For more information, run with TORCH_LOGS="+dynamic".\n  - '
                f"{where} is {n}, which is not a value of {said.__name__} in the specified range "
                f"{said.min} <= {said.__name__} <= {said.max}",
            )
        symbol = self.roots.get(root.__name__)
        if symbol is None:
            if hint in (0, 1) and root is said:
                self.problems.append((root.__name__, self._constant(root.__name__, where, hint)))
                self.fixes.append(f"{root.__name__} = {hint}")
                return Integer(n)
            made = self.env.create_symbol(hint, where, DimDynamic.DYNAMIC, None, True, hint in (0, 1))
            symbol = self.roots[root.__name__] = made  # type: ignore[assignment]
            low = max(int(root.min), 2 if hint > 1 else 0)
            self.env.var_to_range[symbol] = ValueRanges(low, root.max)  # type: ignore[index]
            if root.min < low:
                self.env.assumed[symbol] = int(root.min)  # type: ignore[index]
        elif self.env.var_to_val[symbol] != hint:
            first = next(d for d in self.dims if symbol in d.expr.free_symbols)
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f'Constraints violated ({root.__name__})! For more information, run with TORCH_LOGS="+dynamic".\n  - '
                f"The values of {root.__name__} = {first.source} and {said.__name__} = {where} must always be "
                "equal, got "
                f"{first.hint} and {n}",
            )
        return symbol * factor + offset  # type: ignore[operator,return-value]

    @staticmethod
    def _constant(name: str, where: str, value: int) -> str:
        return (
            f"You marked {name} as dynamic but your code specialized it to be a constant ({value}). Please "
            "either remove "
            f"it from your dynamic_shapes or use Dim.AUTO ({name} was inferred to be a constant: {where} == {value})"
        )
