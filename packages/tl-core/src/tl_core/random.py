"""The default random generator: seeds, states, and blocks after which it is as it was before.

Functions that draw random numbers and are given no ``generator`` draw from `default_generator`, which all threads
share. Generators of accelerators are seeded and forked through their device modules, which register themselves
with `register_device_random`.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator

from tl_core._C import Generator, Tensor, default_generator, device

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_MANY_DEVICES = 1


class DeviceRandom:
    """How a device type's generators are seeded, saved and restored; the index of a device is an int."""

    # Written out: a dataclass would load `inspect`, which costs more than the rest of the import.
    def __init__(
        self,
        manual_seed_all: Callable[[int], object],
        count: Callable[[], int],
        get_state: Callable[[int], object],
        set_state: Callable[[object, int], object],
    ) -> None:
        self.manual_seed_all = manual_seed_all
        self.count = count
        self.get_state = get_state
        self.set_state = set_state


_devices: dict[str, DeviceRandom] = {}


def register_device_random(device_type: str, functions: DeviceRandom) -> None:
    """Makes `manual_seed`, `seed` and `fork_rng` reach the generators of a device type."""
    _devices[device_type] = functions


def manual_seed(seed: int) -> Generator:
    """Seeds the generators of all devices and returns the CPU's.

    ``seed`` lies in [-2**63, 2**64); a negative one stands for the unsigned number with the same bits.

    Raises ValueError for a seed outside that range.

    >>> from tl_core.random import initial_seed, manual_seed
    >>> _ = manual_seed(7)
    >>> initial_seed()
    7
    """
    generator = default_generator.manual_seed(int(seed))
    _seed_devices(int(seed))
    return generator


def seed() -> int:
    """Seeds the generators of all devices with a number drawn by the operating system, which is returned.

    Example:
        >>> import tl_core
        >>> tl_core.seed() == tl_core.initial_seed()
        True
    """
    number = default_generator.seed()
    _seed_devices(number)
    return number


def _seed_devices(value: int) -> None:
    for functions in _devices.values():
        functions.manual_seed_all(value)


def initial_seed() -> int:
    """The seed from which the CPU's default generator started.

    Example:
        >>> import tl_core
        >>> _ = tl_core.manual_seed(7)
        >>> tl_core.initial_seed()
        7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the CPU's default generator: a uint8 tensor of 5056 bytes.

    Example:
        >>> import tl_core
        >>> state = tl_core.get_rng_state()
        >>> first = tl_core.rand(3)
        >>> tl_core.set_rng_state(state)
        >>> bool((tl_core.rand(3) == first).all())
        True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Puts the CPU's default generator into a state that `get_rng_state` returned.

    Raises TypeError unless it is a uint8 tensor, and RuntimeError for bytes that are no state.

    Example:
        >>> import tl_core
        >>> state = tl_core.get_rng_state()
        >>> tl_core.set_rng_state(state)
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[int] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """A block that leaves the generators as it found them.

    Args:
        devices: indices of the devices of ``device_type`` that are saved beside the CPU; all of them by default.
        enabled: False makes the block do nothing.
        device_type: the type of the devices.

    Raises RuntimeError for an unknown device type, or for ``devices`` of a type without random generators.

    >>> from tl_core.random import default_generator, fork_rng, manual_seed
    >>> _ = manual_seed(7)
    >>> with fork_rng():
    ...     _ = manual_seed(8)
    >>> default_generator.initial_seed()
    7
    """
    if not enabled:
        yield
        return
    functions, indices = _forked_devices(devices, device_type, _caller, _devices_kw)
    cpu_state = default_generator.get_state()
    states = [functions.get_state(i) for i in indices] if functions else []
    try:
        yield
    finally:
        default_generator.set_state(cpu_state)
        if functions:
            for index, state in zip(indices, states, strict=True):
                functions.set_state(state, index)


def _forked_devices(
    devices: Iterable[int] | None, device_type: str, caller: str, keyword: str
) -> tuple[DeviceRandom | None, list[int]]:
    device(device_type)  # raises for a name that nobody registered
    indices = None if devices is None else list(devices)
    functions = _devices.get(device_type)
    if functions is None:
        if indices:
            raise RuntimeError(
                f"{caller}(): the device type {device_type!r} has no random generators, got {keyword}={indices}"
            )
        return None, []
    if indices is None:
        indices = list(range(functions.count()))
        _warn_of_many(len(indices), device_type, caller, keyword)
    return functions, indices


def _warn_of_many(count: int, device_type: str, caller: str, keyword: str) -> None:
    if count > _MANY_DEVICES:
        warnings.warn(
            f"{caller}() saves the states of all {count} {device_type} devices, which is slow; name those that "
            f"draw random numbers with {keyword}=, or pass {keyword}=range({count}) to say that all do.",
            stacklevel=5,
        )
