"""What a mode of fakes has to know where sizes may be expressions: `tl_core.subclasses` asks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_core.base.rule_table import RuleTable
from tl_core.dispatch.modes import no_modes
from tl_core.subclasses import FakeTensor, FakeTensorMode
from tl_core.subclasses.fake_tensor import DataDependentOutputException, maybe_get_fake_mode
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..symbolic.expression import Expr, Integer, sympify
from ..symbolic.ranges import bounds, int_oo
from ..symbolic.shape_env import ShapeEnv
from .geometry import Geometry, probes_of
from .indexing import assign, index_fake
from .symbolic_call import SymbolicCall, leaves_of

__all__ = [
    "SymbolicFakes",
    "fake_of_sizes",
    "mode_for",
    "mode_of_values",
    "unbacked_number",
]

Tensor = tl_core.Tensor
# Rules are methods of `SymbolicFakes`, which make a new symbol for each size that elements decide.
SYMBOLIC_SIZES: RuleTable[Any] = RuleTable("symbolic sizes")


def mode_for(values: Any) -> Any:
    """The mode of the fakes among the inputs of a trace, else a new one; sizes may be expressions in either.

    Args:
        values: the inputs, in lists, tuples and dictionaries.
    """
    mode = maybe_get_fake_mode(values)
    if mode is None:
        return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True, export=True)
    if mode.symbolic is None:
        mode.use_symbols(ShapeEnv())
    return mode


def mode_of_values(values: Any, shape_env: Any) -> Any:
    """The mode of the fakes that are noted of a program's nodes, else a new one with its environment.

    Args:
        values: what is noted of nodes.
        shape_env: the environment of the program's symbols; None: there are none.
    """
    mode = maybe_get_fake_mode([v for v in values if isinstance(v, Tensor)])
    if mode is not None:
        return mode
    return FakeTensorMode(shape_env=shape_env or ShapeEnv(), allow_non_fake_inputs=True, export=True)


def fake_of_sizes(mode: Any, sizes: list[Expr], strides: list[Expr], dtype: Any, device: Any) -> FakeTensor:
    """A fake of given sizes and strides.

    Args:
        mode: the mode it is to belong to.
        sizes, strides: expressions.
        dtype: the element type.
        device: where it claims to lie.
    """
    env = mode.shape_env
    with no_modes():
        hints = [[_hint(env, e) for e in exprs] for exprs in (sizes, strides)]
        fake = FakeTensor(mode, tl_core.empty_strided(*hints, dtype=dtype, device="meta"), device)
    if all(isinstance(e, Integer) for e in (*sizes, *strides)):
        return fake
    return Geometry.of_expressions(env, sizes, dtype, strides).attached_to(fake)


def _hint(env: Any, e: Expr) -> int:
    return int(e.evaluate(probes_of(env).lane(0)))


def unbacked_number(env: Any, dtype: Any) -> Any:
    """A number that only the data of a tensor of a dtype decide."""
    if dtype == tl_core.bool:
        return env.create_unbacked_symbool()
    if dtype.is_floating_point:
        return env.create_unbacked_symfloat()
    return env.create_unbacked_symint()


class SymbolicFakes:
    """The part of a mode of fakes that knows expressions.

    Args:
        mode: the mode, which has a `shape_env`.
    """

    # What makes the number of an element: where a mode records, it replaces this. Operators can't return such numbers.
    recorded_item: Callable[[Any], Any] | None = None

    def __init__(self, mode: Any) -> None:
        self.mode, self.env = mode, mode.shape_env
        probes_of(self.env)  # from now on a number that only data decide has an example there

    # ---- sizes
    def name_sizes(self, fake: Any, source: Any, context: Any) -> None:
        """Makes the sizes of a fake symbols.

        Args:
            fake: the fake of a real tensor.
            source: where that comes from.
            context: which sizes are symbols; None: as the environment says.
        """
        named = source if source is not None else f"__meta_utils_unknown_tensor{id(fake)}"
        sizes, strides, _ = self.env.create_symbolic_sizes_strides_storage_offset(
            fake, named, symbolic_context=context
        )
        self.give_sizes(fake, [sympify(n) for n in sizes], [sympify(n) for n in strides])

    def give_sizes(self, fake: Any, sizes: list[Expr], strides: list[Expr] | None = None) -> Any:
        """Makes the sizes of a fake these expressions, whose values in the example it has.

        Args:
            fake: the fake.
            sizes: the expressions.
            strides: those of the strides; None: products of sizes where they are.

        Returns:
            The fake.
        """
        if all(isinstance(e, Integer) for e in sizes):
            return fake
        if strides is None:
            strides = self.env._strides_of(list(fake.shape), list(fake.stride()), sizes)
        return Geometry.of_expressions(self.env, sizes, fake.dtype, strides).attached_to(fake)

    # ---- calls
    def concerns(self, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether an argument has a size, or is a number, that is an expression."""
        return any(
            a.symbolic is not None
            if isinstance(a, FakeTensor)
            else isinstance(a, (SymInt, SymFloat, SymBool))
            for a in leaves_of(args, kwargs)
        )

    def call(self, func: Any, args: Any, kwargs: dict[str, Any], device: Any) -> Any:
        """The results of an operator, some of whose arguments have expressions for sizes."""
        return SymbolicCall(self.mode, func, args, kwargs, device).run()

    def index_fake(self, fake: Any, index: Any) -> Any:
        """The part of a fake that an index names, in which symbolic numbers may stand."""
        return index_fake(fake, index)

    def assign(self, fake: Any, index: Any, value: Any) -> None:
        """Writes to the part of a fake that an index names, in which symbolic numbers may stand."""
        assign(fake, index, value)

    # ---- what only the data decide
    def item(self, fake: Any) -> Any:
        """The number of the one element of a fake: a symbol."""
        if fake.elem.numel() != 1:
            raise RuntimeError(f"a Tensor with {fake.numel()} elements cannot be converted to Scalar")
        if type(self).recorded_item is not None:
            return type(self).recorded_item(fake)  # type: ignore[misc]
        return unbacked_number(self.env, fake.dtype)

    def number(self, func: Any, fake: Any) -> Any:
        """A number that an operator asks for, which would take that of the example for it: refused."""
        if func._native_name != "_local_scalar_dense":
            raise DataDependentOutputException(func)
        raise self.env._data_dependent(self.env.create_unbacked_symint().node.expr)

    def of_elements(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Results of an operator whose sizes depend on elements; NotImplemented: no rule says how many there are."""
        rule = SYMBOLIC_SIZES.get(name)
        return NotImplemented if rule is None else rule(self, *args, **kwargs)

    def _fake(self, like: Any, sizes: list[Any], dtype: Any) -> FakeTensor:
        """A contiguous fake of these sizes."""
        exprs = [sympify(n) for n in sizes]
        geometry = Geometry.of_expressions(self.env, exprs, dtype)
        with no_modes():
            elem = tl_core.empty([_hint(self.env, e) for e in exprs], dtype=dtype, device="meta")
        return geometry.attached_to(FakeTensor(self.mode, elem, like.device))

    def _up_to(self, *sizes: Any) -> Any:
        """A size that data decide, at most the product of others."""
        most: Any = 1
        for n in sizes:
            top = bounds(sympify(n), self.env.var_to_range)[1]
            most = int_oo if top == int_oo or most == int_oo else most * int(top)
        return self.env.new_dynamic_size(0, None if most == int_oo else most)

    @SYMBOLIC_SIZES.rule("nonzero", "argwhere")
    def _nonzero(self, x: Any) -> Any:
        return self._fake(x, [self._up_to(*x.shape), x.ndim], tl_core.int64)

    @SYMBOLIC_SIZES.rule("nonzero_numpy", "where")
    def _nonzero_numpy(self, x: Any) -> Any:
        count = self._up_to(*(x.shape if x.ndim else (1,)))
        return [self._fake(x, [count], tl_core.int64) for _ in range(max(x.ndim, 1))]

    @SYMBOLIC_SIZES.rule("masked_select")
    def _masked_select(self, x: Any, mask: Any) -> Any:
        sizes = x.shape if x.ndim >= mask.ndim else mask.shape
        return self._fake(x, [self._up_to(*sizes)], x.dtype)

    @SYMBOLIC_SIZES.rule("index.Tensor")
    def _index(self, x: Any, indices: Any) -> Any:
        """Elements at indices of which some are masks: as many indices as a mask has dimensions take its place."""
        columns: list[Any] = []
        for index in indices:
            is_mask = isinstance(index, Tensor) and index.dtype in (tl_core.bool, tl_core.uint8)
            columns += self._nonzero_numpy(index) if is_mask else [index]
        return self.call(tl_core.operators.packets.aten.index.Tensor, (x, columns), {}, x.device)

    @SYMBOLIC_SIZES.rule("repeat_interleave.Tensor")
    def _repeat_interleave(self, repeats: Any, *, output_size: Any = None) -> Any:
        return self._fake(
            repeats, [self.env.new_dynamic_size() if output_size is None else output_size], tl_core.int64
        )

    @SYMBOLIC_SIZES.rule("repeat_interleave.self_Tensor")
    def _repeat_along(self, x: Any, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Any:
        """Elements of a dimension, or of all, repeated as often as a tensor says."""
        size = self.env.new_dynamic_size() if output_size is None else output_size
        return self._fake(x, [size] if dim is None else _with_size(x, dim, size), x.dtype)

    @SYMBOLIC_SIZES.rule("tensor_split.tensor_indices_or_sections")
    def _pieces(self, x: Any, positions: Any, dim: int = 0) -> Any:
        """The pieces between positions in a tensor; a number of pieces in a tensor decides how many there are."""
        if positions.ndim == 0:
            return NotImplemented
        narrow = tl_core.operators.packets.aten.narrow.default
        return [
            self.call(narrow, (x, dim, 0, self._up_to(x.shape[dim])), {}, x.device)
            for _ in range(int(positions.shape[0]) + 1)
        ]

    @SYMBOLIC_SIZES.rule("bincount")
    def _bincount(self, x: Any, weights: Any = None, minlength: int = 0) -> Any:
        dtype = tl_core.int64 if weights is None else weights.dtype
        return self._fake(x, [self.env.new_dynamic_size(minlength)], dtype)

    @SYMBOLIC_SIZES.rule("_unique2")
    def _unique(self, x: Any, is_sorted: bool = True, inverse: bool = False, counts: bool = False) -> Any:
        return self._distinct(x, inverse, counts, None)

    @SYMBOLIC_SIZES.rule("unique_dim")
    def _unique_dim(
        self, x: Any, dim: int, is_sorted: bool = True, inverse: bool = False, counts: bool = False
    ) -> Any:
        return self._distinct(x, inverse, counts, dim)

    @SYMBOLIC_SIZES.rule("unique_consecutive")
    def _unique_consecutive(
        self, x: Any, inverse: bool = False, counts: bool = False, dim: int | None = None
    ) -> Any:
        return self._distinct(x, inverse, counts, dim)

    def _distinct(self, x: Any, inverse: bool, counts: bool, dim: int | None) -> Any:
        """Distinct elements or slices, the position of each in them, and their counts."""
        size = self.env.new_dynamic_size()
        positions = list(x.shape) if dim is None else [x.shape[dim]]
        return (
            self._fake(x, [size] if dim is None else _with_size(x, dim, size), x.dtype),
            self._fake(x, positions if inverse else [0], tl_core.int64),
            self._fake(x, [size] if counts else [0], tl_core.int64),
        )


def _with_size(x: Any, dim: int, size: Any) -> list[Any]:
    """The sizes of a tensor with another one of a dimension."""
    sizes = list(x.shape)
    sizes[dim] = size
    return sizes
