"""The sizes of a fake as expressions, and what stands for it on meta at the probes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.dispatch.modes import no_modes
from tl_core.symbolic.numbers import SymInt

from ..symbolic.expression import Expr, Relation, Symbol, sympify
from .probes import LANES, Probes

__all__ = ["Geometry", "alike", "learn", "meta_at", "probes_of", "sizes_of"]

_META = tl_core.device("meta")


def probes_of(shape_env: Any) -> Probes:
    """The probes of an environment, made when they are first needed."""
    probes = shape_env.__dict__.get("probes")
    if probes is None:
        probes = shape_env.__dict__["probes"] = Probes(shape_env)
    return probes


def sizes_of(fake: Any) -> list[Expr]:
    """The sizes of a fake as expressions."""
    return [sympify(n) for n in (fake.shape if fake.symbolic is None else fake.symbolic.sizes)]


def learn(env: Any, number: Any, value: Any) -> None:
    """Takes note of what a number is in the example that only data decide.

    Args:
        env: the environment of its symbol.
        number: a symbolic number.
        value: its value.
    """
    e = number.node.expr if hasattr(number, "node") else None
    symbol = e.lhs if isinstance(e, Relation) else e
    if isinstance(symbol, Symbol) and symbol not in env.var_to_val:
        env.add_var_to_val(symbol, int(value) if isinstance(value, (bool, int)) else value)


def meta_at(probes: Probes, sizes: list[Expr], strides: list[Expr], dtype: Any, lane: int) -> Any:
    """A tensor on meta with the sizes that expressions have in a lane."""
    at = probes.lane(lane)
    return tl_core.empty_strided(
        [int(e.evaluate(at)) for e in sizes],
        [int(e.evaluate(at)) for e in strides],
        dtype=dtype,
        device=_META,
    )


def _contiguous_strides(sizes: list[Expr]) -> list[Expr]:
    strides: list[Expr] = []
    step: Expr = sympify(1)
    for e in reversed(sizes):
        strides.insert(0, step)
        step = step * e
    return strides


class Geometry:
    """What a fake says of its sizes, whatever its own tensor on meta has: that is the example's lane.

    Args:
        env: the environment of the symbols.
        sizes: ints and symbolic ints.
        lanes: tensors on meta at the probes; None: made when they are needed.
        origin: makes that of a probe, where it is a view, whose strides are those of what it views.

    Attributes:
        sizes: the sizes.
    """

    def __init__(
        self,
        env: Any,
        sizes: tuple[Any, ...],
        lanes: list[Any] | None = None,
        origin: Callable[[int], Any] | None = None,
    ) -> None:
        self.env, self.sizes, self._lanes, self._origin = env, sizes, lanes or [], origin
        self._version = env.version

    @classmethod
    def of_expressions(
        cls, env: Any, sizes: list[Expr], dtype: Any, strides: list[Expr] | None = None
    ) -> Geometry:
        """That of expressions.

        Args:
            env: the environment of their symbols.
            sizes: the sizes.
            dtype: the element type.
            strides: the strides; None: those of a contiguous tensor.
        """
        probes, steps = probes_of(env), _contiguous_strides(sizes) if strides is None else strides
        with no_modes():
            lanes = [meta_at(probes, sizes, steps, dtype, i) for i in range(1, LANES)]
        for e in sizes:
            probes.remember(e)
        symints = [env.create_symintnode(e, hint=env.size_hint(e, allow_none=True)) for e in sizes]
        return cls(env, tuple(symints), lanes)

    def learn(self, size: Any, value: int) -> None:
        """Takes note of what a size is in the example, where only data decide it.

        Args:
            size: the size.
            value: its value.
        """
        learn(self.env, size, value)

    def attached_to(self, fake: Any) -> Any:
        """Gives a fake these sizes.

        Args:
            fake: the fake; its own tensor has the example's.

        Returns:
            The fake.
        """
        geometry = Geometry(self.env, self.sizes, list(self._lanes), self._origin)
        geometry._version = self._version
        fake.say_sizes(geometry)
        return fake

    def lane(self, fake: Any, number: int) -> Any:
        """What stands for the fake at a probe; made again where something was learned of the symbols since.

        Args:
            fake: the fake.
            number: which probe, from 1.
        """
        if self._version != self.env.version or not self._lanes:
            self._renew(fake)
        return self._lanes[number - 1]

    def _renew(self, fake: Any) -> None:
        probes = probes_of(self.env)
        exprs = [self.env.replace(sympify(n)) for n in self.sizes]
        lanes = self._lanes or [None] * (LANES - 1)
        for i in range(1, LANES):
            shape = tuple(int(e.evaluate(probes.lane(i))) for e in exprs)
            if lanes[i - 1] is None or tuple(lanes[i - 1].shape) != shape:
                lanes[i - 1] = self._at(fake, i, shape)
        self._lanes, self._version = lanes, self.env.version

    def _at(self, fake: Any, number: int, shape: tuple[int, ...]) -> Any:
        view = None if self._origin is None else self._origin(number)
        return alike(fake.elem, shape) if view is None or tuple(view.shape) != shape else view

    # ---- what programs ask
    def says(self, fake: Any, name: str, args: tuple[Any, ...]) -> Any:
        """What a fake answers; NotImplemented: as its tensor on meta does.

        Args:
            fake: the fake.
            name: what is asked for.
            args: with which arguments.
        """
        if name == "shape":
            return tl_core.Size(self.sizes)
        if name == "size":
            return self.sizes[args[0]] if args and args[0] is not None else tl_core.Size(self.sizes)
        if name in ("numel", "nelement"):
            return self._numel()
        if name == "stride":
            strides = self._strides(fake)
            return strides[args[0]] if args and args[0] is not None else strides
        return NotImplemented

    def _numel(self) -> Any:
        total: Any = 1
        for n in self.sizes:
            total = total * n
        return total

    def _strides(self, fake: Any) -> tuple[Any, ...]:
        """Products of sizes where they are."""
        probes, exprs = probes_of(self.env), [sympify(n) for n in self.sizes]
        lanes = [fake.elem.stride(), *(self.lane(fake, i).stride() for i in range(1, LANES))]
        products = [sympify(1)]
        for e in reversed(exprs):
            products.append(products[-1] * e)
        result: list[Any] = []
        for values in zip(*lanes, strict=True):
            e = probes.fit(values, [*products, *exprs])  # type: ignore[assignment]
            result.append(values[0] if e is None else self.env.create_symintnode(e, hint=values[0]))
        return tuple(result)

    def settle(self) -> None:
        """Sizes that were learned to be numbers are numbers from now on."""
        self.sizes = tuple(self._size(n) for n in self.sizes)

    def _size(self, n: Any) -> Any:
        e = n.node.expr if isinstance(n, SymInt) else sympify(n)
        hint = self.env.size_hint(e, allow_none=True)
        return self.env.create_symintnode(e, hint=hint)


def alike(example: Any, sizes: tuple[int, ...]) -> Any:
    """A tensor on meta of other sizes, whose dimensions lie in memory in the order of the example's.

    Args:
        example: a tensor on meta.
        sizes: the sizes.
    """
    strides, step = [0] * len(sizes), 1
    for d in sorted(range(len(sizes)), key=lambda d: (example.stride(d), -d)):
        if example.stride(d) == 0 and sizes[d] != 0:
            continue
        strides[d] = step
        step *= max(sizes[d], 1)
    with no_modes():
        return tl_core.empty_strided(list(sizes), strides, dtype=example.dtype, device=_META)
