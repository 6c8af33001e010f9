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
        spec: the program's specification, a `Dim` or a hint.
        expr: its expression.
        hint: its size in the example.
    """

    source: str  # as errors name it: L['x'].size()[0]
    path: str
    dim: int
    spec: Any  # a Dim or a hint
    expr: Expr
    hint: int


@dataclass
class Inputs:
    """Makes fakes of inputs, with symbols where sizes are dynamic.

    Args:
        mode: the mode of the fakes, whose environment makes symbols.
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
    _leaves: list[Any] = field(default_factory=list)

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
        fake = self._fakes.get(id(leaf))
        if fake is not None:
            return fake
        if isinstance(shape, _DimHint):
            shape = dict.fromkeys(range(leaf.dim()), shape)
        specs = dict(enumerate(shape)) if isinstance(shape, (tuple, list)) else (shape or {})
        sizes = [self._size(n, specs.get(i), source, path, i) for i, n in enumerate(leaf.shape)]
        stands = self.mode.from_tensor(leaf, static_shapes=True)
        result = self._fakes[id(leaf)] = self.mode.symbolic.give_sizes(stands, sizes)
        self._leaves.append(leaf)
        return result

    def _number(self, value: int, spec: Any, source: str, path: str) -> Any:
        if not isinstance(spec, (_DimHint, Dim)) or (
            isinstance(spec, _DimHint) and spec.type is _DimHintType.STATIC
        ):
            return value
        e = self.env.create_symbol(value, source, DimDynamic.DYNAMIC, None, None, True)
        if isinstance(e, Symbol):
            low, high = getattr(spec, "min", None), getattr(spec, "max", None)
            interval = self.env.var_to_range[e]
            bounds = ValueRanges(
                interval.lower if low is None else low, interval.upper if high is None else high
            )
            self.env.var_to_range[e] = bounds
        self.dims.append(DimOfInput(source, path, -1, spec, e, value))
        return self.env.create_symintnode(e, hint=value)

    def _size(self, n: int, spec: Any, source: str, path: str, i: int) -> Expr:
        where = f"{source}.size()[{i}]"
        if spec is None or (isinstance(spec, _DimHint) and spec.type is _DimHintType.STATIC):
            return Integer(n)
        if isinstance(spec, (int, _StaticDim)):
            size = spec.value if isinstance(spec, _StaticDim) else spec
            if size != n:
                raise UserError(
                    UserErrorType.INVALID_INPUT,
                    f"Static shape constraint of {size} does not match input size of {n}, for "
                    f"`inputs{path}.shape[{i}]`",
                )
            return Integer(n)
        e = (
            self._size_of_hint(n, spec, where)
            if isinstance(spec, _DimHint)
            else self._named_size(n, spec, where)
        )
        self.dims.append(DimOfInput(where, path, i, spec, e, n))
        return e

    def _size_of_hint(self, n: int, hint: _DimHint, where: str) -> Expr:
        e = self.env.create_symbol(n, where, DimDynamic.DYNAMIC)
        if isinstance(e, Symbol):
            low = 2 if hint.min is None else max(hint.min, 2)
            high = int_oo if hint.max is None else hint.max
            if not low <= n <= high and n > 1:
                raise UserError(
                    UserErrorType.INVALID_INPUT, f"{where} is {n}, outside of its range: {hint!r}"
                )
            self.env.var_to_range[e] = ValueRanges(low, high)
            if (hint.min or 0) < low:
                self.env.assumed[e] = hint.min or 0
        return e

    def _named_size(self, n: int, dim: Dim, where: str) -> Expr:
        root = dim.root if isinstance(dim, _DerivedDim) else dim
        self.named.setdefault(root.__name__, root)
        factor, offset = (dim.factor, dim.offset) if isinstance(dim, _DerivedDim) else (1, 0)
        hint, left = divmod(n - offset, factor)
        if left or not dim.min <= n <= dim.max:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f'Constraints violated ({dim.__name__})! For more information, run with TORCH_LOGS="+dynamic".\n  - '
                f"{where} is {n}, which is not a value of {dim.__name__} in the specified range "
                f"{dim.min} <= {dim.__name__} <= {dim.max}",
            )
        symbol = self.roots.get(root.__name__)
        if symbol is None:
            if hint in (0, 1) and root is dim:
                self.problems.append((root.__name__, self._constant(root.__name__, where, hint)))
                self.fixes.append(f"{root.__name__} = {hint}")
                return Integer(n)
            expr = self.env.create_symbol(hint, where, DimDynamic.DYNAMIC, None, True, hint in (0, 1))
            symbol = self.roots[root.__name__] = expr  # type: ignore[assignment]
            low = max(int(root.min), 2 if hint > 1 else 0)
            self.env.var_to_range[symbol] = ValueRanges(low, root.max)  # type: ignore[index]
            if root.min < low:
                self.env.assumed[symbol] = int(root.min)  # type: ignore[index]
        elif self.env.var_to_val[symbol] != hint:
            first = next(d for d in self.dims if symbol in d.expr.free_symbols)
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f'Constraints violated ({root.__name__})! For more information, run with TORCH_LOGS="+dynamic".\n  - '
                f"The values of {root.__name__} = {first.source} and {dim.__name__} = {where} must always be "
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
