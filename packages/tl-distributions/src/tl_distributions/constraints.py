"""Regions of parameters and samples.

A constraint is an object: `check` tests each event, `is_discrete` is True of regions of integers, `event_dim` is the
number of dimensions of an event. `transform_to` and `biject_to` return transforms to the region.

>>> positive.check(tl_core.tensor([-1.0, 2.0]))
tensor([False,  True])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from .utils import holds

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

# How far a matrix may be from symmetric, a row from length 1, a sum from 1.
_TOLERANCE = 1e-6
_ROW_EPSILONS = 10  # a row's length, in units of the type's precision and its size


class Constraint:
    """A region that a variable is restricted to.

    Attributes:
        is_discrete: whether the region is one of integers.
        event_dim: how many of the last dimensions make an event.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.positive.check(tl_core.tensor([-1.0, 2.0]))
        tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Checks each event against the region.

        Args:
            value: events, of shape sample_shape + batch_shape + event_shape.

        Returns:
            A tensor of bool without the event's dimensions.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement check")

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Bounded(Constraint):
    """A region between bounds, numbers or tensors, which its text repeats."""

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{super().__repr__()[:-1]}{bounds})"


class _Dependent(Constraint):
    """The region of a variable that depends on other variables.

    Args:
        is_discrete: whether the region is one of integers. By default the value is unknown.
        event_dim: the number of dimensions of an event. By default the value is unknown.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the region is one of integers, where that does not depend on other variables."""
        return self._static_property("is_discrete")

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event, where it does not depend on other variables."""
        return self._static_property("event_dim")

    def _static_property(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with more that is known: `dependent(is_discrete=True, event_dim=1)`."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """Raises ValueError: the bounds of the region depend on other variables."""
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property that is a constraint depending on the object, such as the support of `Uniform`.

    Read from the class it is a dependent constraint, read from an object the constraint of that object.

    Args:
        fn: the method that gives the constraint.
        is_discrete: whether the region is one of integers, if this is fixed.
        event_dim: the number of dimensions of an event, if this is fixed.

    Example:
        >>> from tl_distributions import constraints
        >>> from tl_distributions import Uniform
        >>> Uniform(0.0, 2.0).support
        Interval(lower_bound=0.0, upper_bound=2.0)
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        """Decorates the method: `@dependent_property(is_discrete=False, event_dim=0)`."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """The events of another constraint, several of which make one.

    Args:
        base_constraint: the constraint of the parts.
        reinterpreted_batch_ndims: how many more dimensions make an event.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.independent(constraints.positive, 1).check(tl_core.tensor([[1.0, 2.0], [1.0, -2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if reinterpreted_batch_ndims < 0:
            raise ValueError(
                f"reinterpreted_batch_ndims must not be negative, but got {reinterpreted_batch_ndims}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """As of the base constraint."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """Those of the base constraint and those that are reinterpreted."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether all parts of each event are valid."""
        valid = self.base_constraint.check(value)
        batch_dims = valid.dim() - self.reinterpreted_batch_ndims
        if batch_dims < 0:
            raise ValueError(
                f"expected a value of {self.event_dim} dimensions or more, but got {value.dim()}"
            )
        return valid.flatten(batch_dims).all(-1) if self.reinterpreted_batch_ndims else valid

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: each event is in the support of the components.

    Args:
        base_constraint: the support of the components.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(tl_core.tensor([0.5, -1.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"base_constraint must be a Constraint, but got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """As of the components."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """As of the components."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Whether each event is valid for all components."""
        dims = self.event_dim
        valid = self.base_constraint.check(value.unsqueeze(-1 - dims))
        lost = valid.dim() - (value.dim() - dims)
        return valid.flatten(valid.dim() - lost).all(-1) if lost > 0 else valid

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors with one 1 and zeros elsewhere."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(_Bounded):
    """Integers within bounds, which belong to it.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.integer_interval(0, 3).check(tl_core.tensor([0.0, 1.5, 3.0]))
        tensor([ True, False,  True])
    """

    is_discrete = True

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value, (self.lower_bound <= value) & (value <= self.upper_bound))


class _IntegerLessThan(_Bounded):
    """Integers up to a bound, which belongs to it."""

    is_discrete = True

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value, value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Integers from a bound on, which belongs to it."""

    is_discrete = True

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return _is_integer(value, value >= self.lower_bound)


class _Real(Constraint):
    """All numbers but nan."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Bounded):
    """Numbers above a bound.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.greater_than(1.0).check(tl_core.tensor([1.0, 2.0]))
        tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(_Bounded):
    """Numbers from a bound on.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.greater_than_eq(1.0).check(tl_core.tensor([0.5, 1.0]))
        tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(_Bounded):
    """Numbers below a bound.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.less_than(1.0).check(tl_core.tensor([0.5, 1.0]))
        tensor([ True, False])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers within bounds, which belong to it.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.interval(0.0, 1.0).check(tl_core.tensor([0.5, 1.5]))
        tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers within bounds, the lower of which belongs to it.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.half_open_interval(0.0, 1.0).check(tl_core.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < _TOLERANCE)


class _Multinomial(Constraint):
    """Vectors of counts whose sum does not exceed a bound: with unlike numbers of trials in a batch, the largest.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> constraints.multinomial(3).check(tl_core.tensor([[1.0, 2.0], [2.0, 2.0]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Lower triangular square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular square matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Lower triangular square matrices with a positive diagonal and rows of length 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = tl_core.finfo(value.dtype).eps * value.size(-1) * _ROW_EPSILONS
        lengths = tl_core.linalg.norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return tl_core.full(value.shape[:-2], is_square, dtype=tl_core.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric square matrices, up to rounding."""

    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return is_square
        return tl_core.isclose(value, value.mT, atol=_TOLERANCE).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not holds(symmetric):
            return symmetric
        return (tl_core.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues: those that have a Cholesky factor."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not holds(symmetric):
            return symmetric
        return tl_core.linalg.cholesky_ex(value).info == 0


class _Cat(Constraint):
    """Constraints of the parts that `cat` joins.

    Args:
        cseq: one constraint for each part.
        dim: the dimension that the parts are joined along.
        lengths: the length of each part, 1 by default.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> parts = constraints.cat([constraints.positive, constraints.real], dim=0, lengths=[1, 2])
        >>> parts.check(tl_core.tensor([-1.0, -1.0, 2.0]))
        tensor([False,  True,  True])
    """

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        self.cseq = _constraints(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(
                f"lengths must name one length a constraint: {len(self.lengths)} of {len(self.cseq)}"
            )
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether any part is."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        """The largest of the parts."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        """Checks each part and joins the results along the dimension."""
        _check_dim("dim", self.dim, value)
        parts = value.split(self.lengths, self.dim)
        return tl_core.cat([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


class _Stack(Constraint):
    """Constraints of the parts that `stack` joins.

    Args:
        cseq: one constraint for each part.
        dim: the dimension that the parts are joined along.

    Example:
        >>> import tl_core
        >>> from tl_distributions import constraints
        >>> pair = constraints.stack([constraints.positive, constraints.real], dim=0)
        >>> pair.check(tl_core.tensor([-1.0, -1.0]))
        tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = _constraints(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether any part is."""
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        """The largest event dimension of the parts, plus one if they are joined within the event."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        """Checks each part and joins the results along the dimension."""
        _check_dim("dim", self.dim, value)
        parts = value.unbind(self.dim)
        return tl_core.stack([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


def _is_integer(value: Tensor, inside: Tensor) -> Tensor:
    return inside & (value % 1 == 0) if value.is_floating_point() else inside


def _constraints(cseq: Sequence[Constraint]) -> list[Constraint]:
    constraints = list(cseq)
    for c in constraints:
        if not isinstance(c, Constraint):
            raise TypeError(f"cseq must hold constraints, but got {type(c).__name__}")
    return constraints


def _check_dim(name: str, dim: int, value: Tensor) -> None:
    if not -value.dim() <= dim < value.dim():
        raise IndexError(
            f"{name} must be in [{-value.dim()}, {value.dim() - 1}] for a value of {value.dim()} dimensions, "
            f"but got {dim}"
        )


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other variables, so that it cannot be checked alone.

    Args:
        constraint: an object of this module.

    Returns:
        True of `dependent` and of dependent properties.

    Example:
        >>> is_dependent(dependent), is_dependent(positive)
        (True, False)
    """
    return isinstance(constraint, _Dependent)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
