"""The base class of distributions: shapes, validation, expansion, properties of every distribution."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .constraints import Constraint
from .utils import SCALAR, holds, lazy_property, plain_value

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them.

    Samples have the shape sample_shape + batch_shape + event_shape: sample_shape samples of each distribution of
    the batch, each with the shape of one event.

    A subclass sets `arg_constraints` and `support`, implements `sample` or `rsample` and `log_prob`, and names in
    `_parameter_event_dims` the parameters that `expand` expands, each with the number of its event dimensions, and in
    `_copied_attributes` the attributes that `expand` copies.

    Args:
        batch_shape (Size): the shape of the batch.
        event_shape (Size): the shape of one event.
        validate_args (bool): whether to check parameters and values. None: as of `set_default_validate_args`.

    Raises:
        ValueError: a parameter does not satisfy its constraint.

    Example:
        >>> import tl_core
        >>> from tl_distributions import Distribution, Normal
        >>> heights = Normal(tl_core.zeros(3), 2.0)
        >>> isinstance(heights, Distribution), heights.batch_shape, heights.sample((5,)).shape
        (True, torch.Size([3]), torch.Size([5, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _parameter_event_dims: ClassVar[dict[str, int]]
    _copied_attributes: ClassVar[tuple[str, ...]] = ()
    _derived_parameter: Any = None  # the parameter that follows from another one, which is checked

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets the default of `validate_args`: whether distributions check parameters and values.

        The default is on, and off under Python's `-O`. Checks cost time, so you can turn them off in a working program.

        Args:
            value: whether to check.

        Raises:
            ValueError: the value is not a bool.
        """
        if value not in (True, False):
            raise ValueError(f"value must be True or False, but got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = SCALAR,
        event_shape: Size = SCALAR,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    # ---- shapes -----------------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Expands the distribution to a larger batch, without a copy of memory and without validation.

        Args:
            batch_shape (Size): the shape of the larger batch.
            _instance: an instance of a subclass, which receives the expanded parameters.

        Returns:
            A distribution of its type.

        Raises:
            NotImplementedError: a subclass has an `__init__` of its own and no `expand`.
        """
        owner = next((c for c in type(self).__mro__ if "_parameter_event_dims" in vars(c)), None)
        if owner is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement expand")
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        self._expand_into(new, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        """Gives another instance the parameters, expanded."""
        for name, event_dims in self._parameter_event_dims.items():
            value = self.__dict__.get(name)
            if value is not None:
                event = value.shape[value.dim() - event_dims :]
                new.__dict__[name] = value.expand(batch_shape + event)
        for name in self._copied_attributes:
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name]

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The instance to be filled by `expand` of the class `cls`."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return type(self).__new__(type(self))

    def _extended_shape(self, sample_shape: Any = SCALAR) -> Size:
        """The shape of samples."""
        if not sample_shape:
            return self._batch_shape + self._event_shape if self._event_shape else self._batch_shape
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    # ---- properties and samples -------------------------------------------------------------------------------------

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint of each parameter. Parameters that are no tensors may be absent."""
        raise NotImplementedError(f"{type(self).__name__} does not implement arg_constraints")

    @property
    def support(self) -> Constraint | None:
        """The constraint of samples."""
        raise NotImplementedError(f"{type(self).__name__} does not implement support")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mean")

    @property
    def mode(self) -> Tensor:
        """The value of the highest density or probability."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element of an event."""
        raise NotImplementedError(f"{type(self).__name__} does not implement variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: the square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Samples, through which no gradients flow.

        Args:
            sample_shape (Size): how many.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.
        """
        with tl_core.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Samples that are functions of the parameters, so that gradients flow to the parameters. See `has_rsample`.

        Args:
            sample_shape (Size): how many.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.

        Raises:
            NotImplementedError: samples of this distribution have no such gradients.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement rsample")

    def sample_n(self, n: int) -> Tensor:
        """An older form of `sample((n,))`.

        Args:
            n: how many samples.

        Returns:
            A tensor of shape (n,) + batch_shape + event_shape.
        """
        warnings.warn("sample_n(n) is deprecated: use sample((n,))", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of each event.

        Args:
            value: events, whose shape broadcasts with batch_shape + event_shape.

        Returns:
            A tensor without the event's dimensions.

        Raises:
            ValueError: validation is on and the value is no tensor, has another shape, or is outside the support.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample that is not above a value.

        Args:
            value: values, whose shape broadcasts with batch_shape + event_shape.

        Returns:
            Probabilities.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The value that a sample does not exceed with a probability: the inverse of `cdf`.

        Args:
            value: probabilities.

        Returns:
            Quantiles.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a discrete distribution can take, along dimension 0.

        Args:
            expand: whether to repeat them for each distribution of the batch. If False, these dimensions have size 1.

        Returns:
            A tensor of shape (number of values,) + batch_shape + event_shape.

        Raises:
            NotImplementedError: there is no finite list of values, or it differs within the batch.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy in nats of each distribution of the batch."""
        raise NotImplementedError(f"{type(self).__name__} does not implement entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    # ---- validation -------------------------------------------------------------------------------------------------

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name == self._derived_parameter:
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # derived from another parameter, which is checked
            value = getattr(self, name)
            valid = constraint.check(value)
            if not holds(valid):
                raise ValueError(
                    f"Expected parameter {name} ({_describe(value)}) of distribution {self!r} to satisfy the "
                    f"constraint {constraint!r}, but found {_first_invalid(value, valid)}"
                )

    def _validate_sample(self, value: Tensor) -> None:
        """Raises if the value is no tensor, has another shape or is outside the support.

        Args:
            value: events.

        Raises:
            ValueError: the value fails one of these checks.
        """
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The value argument to log_prob must be a Tensor, but got {type(value).__name__} "
                f"for distribution {self!r}"
            )
        if value.shape != self._batch_shape or self._event_shape:
            self._validate_shape(value.shape)
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        assert support is not None
        valid = support.check(value)
        if not holds(valid):
            raise ValueError(
                f"Expected value argument ({_describe(value)}) to be within the support ({support!r}) of the "
                f"distribution {self!r}, but found {_first_invalid(value, valid)}"
            )

    def _validate_shape(self, shape: Size) -> None:
        event = len(self._event_shape)
        if shape[len(shape) - event :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {self._event_shape} "
                f"of distribution {self!r}"
            )
        expected = self._batch_shape + self._event_shape
        for actual, size in zip(reversed(shape), reversed(expected)):
            if actual != size and actual != 1 and size != 1:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected} "
                    f"of distribution {self!r}"
                )

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{n}: {_brief(self.__dict__[n])}' for n in names)})"


def _brief(value: Any) -> str:
    return f"{value}" if not isinstance(value, Tensor) or value.numel() == 1 else f"{value.shape}"


def _describe(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    return type(value).__name__


def _first_invalid(value: Any, valid: Tensor) -> str:
    """The first event of a value that violates a constraint, its index, and the number of such events."""
    valid = plain_value(valid)
    value = plain_value(value) if isinstance(value, Tensor) else value
    wrong = (~valid).nonzero()
    count = f"{len(wrong)} of {valid.numel()} invalid"
    if not isinstance(value, Tensor) or value.shape[: valid.dim()] != valid.shape:
        return f"an invalid value: {value}"
    index = tuple(wrong[0].tolist())
    event = value.detach()[index]
    text = f"{event.item()}" if event.dim() == 0 else f"{event}"
    where = f" at index {index}" if index else ""
    return f"the invalid value {text}{where} ({count})"
