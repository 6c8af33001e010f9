"""The random generators of devices that aren't there: seeds are taken, and nothing is seeded."""

from collections.abc import Callable, Iterable
from typing import Any

__all__ = [
    "AbsentGenerators",
    "get_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
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


def get_rng_state_all() -> list:
    """The states of all devices' generators: an empty list."""
    return []


class AbsentGenerators:
    """What asks for a generator of a kind of device, and so can't be answered.

    Parameters:
        kind: "cuda" or "xpu".
        error: makes the error for a name.
    """

    def __init__(self, kind: str, error: Callable[[str], Exception]) -> None:
        self.kind, self.error = kind, error

    def initial_seed(self) -> int:
        """The seed of the selected device's generator."""
        raise self.error(f"tl.{self.kind}.initial_seed")

    def get_rng_state(self, device: Any = None) -> Any:
        """The state of a device's generator, as a tensor of bytes."""
        named = self.kind if device is None else device
        raise self.error(f"tl.{self.kind}.get_rng_state({named!r})")

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Sets the state of a device's generator."""
        named = self.kind if device is None else device
        raise self.error(f"tl.{self.kind}.set_rng_state(…, {named!r})")

    def set_rng_state_all(self, new_states: Iterable[Any]) -> None:
        """Sets the states of all devices' generators: of none, from an empty list."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)
