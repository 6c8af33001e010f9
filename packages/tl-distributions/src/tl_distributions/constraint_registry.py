"""Registries of transforms by constraint.

`biject_to(c)` is a bijection from real numbers to the region c, as Hamiltonian Monte Carlo needs. `transform_to(c)`
may have more coordinates than c and keeps them apart, for optimization coordinate by coordinate.

>>> from tl_distributions import constraints
>>> transform_to(constraints.positive)(tl_core.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Transforms by the class of a constraint.

    Example:
        >>> registry = ConstraintRegistry()
        >>> @registry.register(constraints.positive)
        ... def to_positive(constraint):
        ...     return transforms.ExpTransform()
        ...
        >>> registry(constraints.positive)
        ExpTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Registers the factory of a constraint's transform, directly or as a decorator.

        Args:
            constraint: a subclass of `Constraint`, or an object of it.
            factory: a function from the constraint to its transform. With None, `register` returns a decorator.

        Returns:
            The factory.

        Raises:
            TypeError: `constraint` is neither.
        """
        if factory is None:
            return functools.partial(self.register, constraint)
        key = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(key, type) and issubclass(key, Constraint)):
            raise TypeError(f"constraint must be a Constraint or a subclass of it, but got {constraint!r}")
        self._registry[key] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """The transform from real numbers to a region.

        Args:
            constraint: the region that the transform maps to.

        Returns:
            A new transform, or a shared one.

        Raises:
            NotImplementedError: the registry has no factory for the constraint.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    """Registers a factory of bijections in both registries."""

    def register(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _biject_to_independent(constraint: Any) -> Transform:
    base = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_to_independent(constraint: Any) -> Transform:
    base = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_above(constraint: Any) -> Transform:
    bound = constraint.lower_bound
    exp = transforms.ExpTransform()
    if isinstance(bound, numbers.Number) and bound == 0:
        return exp
    return transforms.ComposeTransform([exp, transforms.AffineTransform(bound, 1)])


@_both(constraints.less_than)
def _to_below(constraint: Any) -> Transform:
    flip = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), flip])


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, numbers.Number) and isinstance(high, numbers.Number) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def _biject_to_cat(constraint: Any) -> Transform:
    parts = [biject_to(c) for c in constraint.cseq]
    return transforms.CatTransform(parts, constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def _transform_to_cat(constraint: Any) -> Transform:
    parts = [transform_to(c) for c in constraint.cseq]
    return transforms.CatTransform(parts, constraint.dim, constraint.lengths)


@biject_to.register(constraints.stack)
def _biject_to_stack(constraint: Any) -> Transform:
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def _transform_to_stack(constraint: Any) -> Transform:
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)
