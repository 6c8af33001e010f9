"""Random inputs for benchmarks: parameters drawn from distributions, and tensors whose sizes they are.

Numbers come from numpy's Mersenne Twister, so that a seed determines the inputs on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import tl_core

if TYPE_CHECKING:
    import numpy

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias", "dtype_size", "prod"]

_DISTRIBUTIONS = ("loguniform", "uniform")
_ATTEMPTS = 1000


def dtype_size(dtype: tl_core.dtype) -> int:
    """The bytes of an element.

    Example:
        >>> import tl_core
        >>> dtype_size(tl_core.float64)
        8
    """
    return dtype.itemsize


def prod(values: Sequence[int], base: int = 1) -> int:
    """The product of integers, without overflow.

    Example:
        >>> prod([2, 3, 4])
        24
    """
    return math.prod(values, start=base)


class ParameterAlias:
    """The value of another parameter.

    Args:
        alias_to: its name.

    Example:
        >>> ParameterAlias("rows").alias_to
        'rows'
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number drawn at random.

    Args:
        name: its name.
        minval: the smallest value.
        maxval: the largest value.
        distribution: `"uniform"`; `"loguniform"`, which draws integers; or a dictionary of values (`ParameterAlias`
            among them) and their probabilities.
        strict: whether a drawn value is kept when a set of parameters is refused and drawn again. Otherwise, refusals
            shift the distribution, for instance towards small sizes.

    Raises:
        ValueError: distribution, bounds or probabilities make no sense.

    Example:
        >>> FuzzedParameter("n", minval=1, maxval=1024, distribution="loguniform").name
        'n'
    """

    def __init__(self, name: str, minval: float | None = None, maxval: float | None = None,
                 distribution: str | dict[Any, float] | None = None, strict: bool = False) -> None:  # fmt: skip
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        self._distribution = self._check_distribution(distribution)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def _check_distribution(self, distribution: Any) -> Any:
        where = f"FuzzedParameter({self._name!r})"
        if not isinstance(distribution, dict):
            if distribution not in _DISTRIBUTIONS:
                raise ValueError(
                    f"{where}: distribution must be 'uniform', 'loguniform' or a dict, got {distribution!r}"
                )
            if self._minval is None or self._maxval is None:
                raise ValueError(f"{where}: {distribution} needs minval and maxval")
            if self._minval > self._maxval or (distribution == "loguniform" and self._minval <= 0):
                raise ValueError(f"{where}: {distribution} can't draw from {self._minval} to {self._maxval}")
            return distribution
        if self._minval is not None or self._maxval is not None:
            raise ValueError(f"{where}: a dict of probabilities takes no minval and maxval")
        if any(p < 0 for p in distribution.values()):
            raise ValueError(f"{where}: probabilities must not be negative, got {distribution}")
        if abs(sum(distribution.values()) - 1) > 1e-5:
            raise ValueError(f"{where}: probabilities must add up to 1, got {sum(distribution.values())}")
        return distribution

    def sample(self, state: numpy.random.RandomState) -> Any:
        """Draws a value."""
        if isinstance(self._distribution, dict):
            keys = list(self._distribution)
            return keys[int(state.choice(len(keys), p=tuple(self._distribution.values())))]
        low, high = self._minval, self._maxval
        if low is None or high is None:
            raise ValueError(f"FuzzedParameter({self._name!r}): no bounds")  # refused when it was made
        if self._distribution == "loguniform":
            value = int(2 ** state.uniform(low=math.log2(low), high=math.log2(high)))
            return min(max(value, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return float(state.uniform(low=low, high=high))


class FuzzedTensor:
    """A tensor whose sizes and steps are numbers or names of parameters.

    Args:
        name: its name.
        size: the size of each dimension.
        steps: the step of each dimension: the tensor is every so-manieth element of a larger one.
        probability_contiguous: the probability of a contiguous tensor, if steps allow it. Else dimensions are permuted.
        min_elements: sets of parameters that give fewer elements are refused.
        max_elements: those that give more.
        max_allocation_bytes: those that need more memory.
        dim_parameter: the name of the parameter of the number of dimensions. None means all.
        roll_parameter: the name of the parameter of the rotation of sizes and steps.
        dtype: element type.
        cuda: whether to allocate on the accelerator.
        tensor_constructor: the constructor of tensors, called with `size`, `dtype` and all parameters.

    Example:
        >>> FuzzedTensor("x", size=("k0", "k1"), min_elements=4).name
        'x'
    """

    def __init__(self, name: str, size: tuple[str | int, ...], steps: tuple[str | int, ...] | None = None,
                 probability_contiguous: float = 0.5, min_elements: int | None = None,
                 max_elements: int | None = None, max_allocation_bytes: int | None = None,
                 dim_parameter: str | None = None, roll_parameter: str | None = None,
                 dtype: tl_core.dtype = tl_core.float32, cuda: bool = False,
                 tensor_constructor: Callable[..., tl_core.Tensor] | None = None) -> None:  # fmt: skip
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter, self._roll_parameter = dim_parameter, roll_parameter
        self._dtype, self._cuda, self._tensor_constructor = dtype, cuda, tensor_constructor
        if steps is not None and len(steps) != len(size):
            raise ValueError(
                f"FuzzedTensor({name!r}): steps must have {len(size)} entries as size has, got {len(steps)}"
            )

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @staticmethod
    def default_tensor_constructor(
        size: Sequence[int], dtype: tl_core.dtype, **kwargs: Any
    ) -> tl_core.Tensor:
        """Numbers from 0 to 1, or integers from 0 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return tl_core.rand(size=size, dtype=dtype)
        return tl_core.randint(0, 127, size=tuple(size), dtype=dtype)

    def _make_tensor(self, params: dict[str, Any], state: numpy.random.RandomState
                     ) -> tuple[tl_core.Tensor, dict[str, Any]]:  # fmt: skip
        size, steps, allocation = self._get_size_and_steps(params)
        dim = len(size)
        order = list(range(dim))
        if state.rand() > self._probability_contiguous and dim > 1:
            while order == list(range(dim)):
                order = [int(i) for i in state.permutation(dim)]
        make = self._tensor_constructor or self.default_tensor_constructor
        raw = make(size=tuple(allocation[i] for i in order), dtype=self._dtype, **params)
        if self._cuda:
            raw = raw.cuda()
        raw = raw.permute([order.index(i) for i in range(dim)])
        tensor = raw[tuple(slice(0, n * step, step) for n, step in zip(size, steps, strict=True))]
        return tensor, {
            "numel": int(tensor.numel()),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def _get_size_and_steps(
        self, params: dict[str, Any]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        dim = int(params[self._dim_parameter]) if self._dim_parameter is not None else len(self._size)

        def resolve(values: tuple[str | int, ...]) -> tuple[int, ...]:
            numbers = [int(params.get(v, v)) if isinstance(v, str) else int(v) for v in values[:dim]]
            turn = int(params[self._roll_parameter]) % max(dim, 1) if self._roll_parameter is not None else 0
            return tuple(numbers[turn:] + numbers[:turn])

        size = resolve(self._size)
        steps = resolve(self._steps or (1,) * dim)
        return size, steps, tuple(n * step for n, step in zip(size, steps, strict=True))

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether these parameters give a tensor within the limits."""
        size, _, allocation = self._get_size_and_steps(params)
        elements = prod(size)
        limits = (
            (self._min_elements, lambda least: elements >= least),
            (self._max_elements, lambda most: elements <= most),
            (self._max_allocation_bytes, lambda most: prod(allocation) * dtype_size(self._dtype) <= most),
        )
        return all(limit is None or holds(limit) for limit, holds in limits)


class Fuzzer:
    """Draws parameters, and tensors of these sizes, again and again.

    Args:
        parameters: FuzzedParameters, or lists of them.
        tensors: FuzzedTensors, or lists of them.
        constraints: functions that are called with all parameters by name and say whether they may be used.
        seed: the seed of the random numbers. None means a random seed.

    Raises:
        ValueError: a name occurs twice.

    Example:
        >>> fuzzer = Fuzzer([FuzzedParameter("n", 1, 16, "loguniform")], [FuzzedTensor("x", size=("n",))], seed=0)
        >>> for tensors, properties, parameters in fuzzer.take(2):
        ...     print(tensors["x"].shape, parameters)
        torch.Size([7]) {'n': 7}
        torch.Size([4]) {'n': 4}
    """

    def __init__(self, parameters: Sequence[FuzzedParameter | list[FuzzedParameter]],
                 tensors: Sequence[FuzzedTensor | list[FuzzedTensor]],
                 constraints: Sequence[Callable[..., bool]] | None = None,
                 seed: int | None = None) -> None:  # fmt: skip
        import numpy  # only for those who draw

        self._seed = (
            int(numpy.random.RandomState().randint(0, 2**32 - 1, dtype=numpy.int64)) if seed is None else seed
        )
        self._parameters = self._flat(parameters, FuzzedParameter)
        self._tensors = self._flat(tensors, FuzzedTensor)
        self._constraints = list(constraints or ())
        names = [one.name for one in (*self._parameters, *self._tensors)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"Fuzzer(): names must differ, got {', '.join(twice)} more than once")
        self._rejections = self._total_generated = 0

    @staticmethod
    def _flat(values: Sequence[Any], kind: type) -> list[Any]:
        flat: list[Any] = []
        for value in values:
            flat += [value] if isinstance(value, kind) else value
        return flat

    def take(self, n: int) -> Iterator[tuple[dict[str, tl_core.Tensor], dict[str, Any], dict[str, Any]]]:
        """Draws `n` times.

        The seed determines the draws, and seeds the default generator of tensors.

        Args:
            n: how often.

        Returns:
            an iterator of tensors, their properties and parameters, each by name.

        Raises:
            ValueError: 1,000 sets of parameters were refused one after another.
        """
        import numpy

        state = numpy.random.RandomState(self._seed)
        tl_core.manual_seed(int(state.randint(low=0, high=2**63, dtype=numpy.int64)))
        for _ in range(n):
            params = self._generate(state)
            tensors, properties = {}, {}
            for one in self._tensors:
                tensors[one.name], properties[one.name] = one._make_tensor(params, state)
            yield tensors, properties, params

    @property
    def rejection_rate(self) -> float:
        """The share of parameter sets that was refused."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state: numpy.random.RandomState) -> dict[str, Any]:
        strict_values: dict[str, Any] = {}
        for _ in range(_ATTEMPTS):
            values: dict[str, Any] = {}
            for one in self._parameters:
                values[one.name] = strict_values[one.name] if one.name in strict_values else one.sample(state)
                if one.strict:
                    strict_values[one.name] = values[one.name]
            params = self._resolve_aliases(values)
            self._total_generated += 1
            allowed = all(holds(**params) for holds in self._constraints)
            if allowed and all(one.satisfies_constraints(params) for one in self._tensors):
                return params
            self._rejections += 1
        raise ValueError(f"Fuzzer: {_ATTEMPTS} sets of parameters one after another break the constraints")

    @staticmethod
    def _resolve_aliases(params: dict[str, Any]) -> dict[str, Any]:
        resolved = dict(params)
        while waiting := {k: v.alias_to for k, v in resolved.items() if isinstance(v, ParameterAlias)}:
            ready = {k: resolved[to] for k, to in waiting.items() if to in resolved and to not in waiting}
            if not ready:
                raise ValueError(f"Fuzzer: aliases lead in a circle or to nothing: {waiting}")
            resolved |= ready
        return resolved
