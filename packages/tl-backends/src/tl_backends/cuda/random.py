"""The random generators of CUDA devices. There are none, so seeds are taken and nothing is seeded."""

from collections.abc import Iterable
from typing import Any

from tl_backends import absent

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed: int) -> None:
    """Seeds the generator of the selected device, if there is one.

    Raises:
        ValueError: the seed isn't a number.
    """
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices, if there are any.

    Raises:
        ValueError: the seed isn't a number.
    """
    int(seed)


def seed() -> None:
    """Seeds the generator of the selected device, if there is one, with a random number."""


def seed_all() -> None:
    """Seeds the generators of all devices, if there are any, with one random number."""


def initial_seed() -> int:
    """The seed of the selected device's generator."""
    raise absent.cuda("tl.cuda.initial_seed")


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a device's generator, as a tensor of bytes."""
    raise absent.cuda(f"tl.cuda.get_rng_state({device!r})")


def get_rng_state_all() -> list:
    """The states of all devices' generators: an empty list."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Sets the state of a device's generator."""
    raise absent.cuda(f"tl.cuda.set_rng_state(…, {device!r})")


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Sets the states of all devices' generators: of none, from an empty list."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
