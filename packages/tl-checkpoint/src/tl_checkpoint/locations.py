"""Devices of loaded storages, by the tags of files and `map_location`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.storage import UntypedStorage, tensor_on

__all__ = ["location_tag", "register_package", "relocate", "restore_location", "target_of"]

_packages: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Register how storages of a device are tagged, and moved there when loaded; lower priorities come first.

    Args:
        priority: the lower, the sooner it is asked.
        tagger: takes a storage and returns its tag, or None if it isn't of this device.
        deserializer: takes a storage and a tag and returns the storage moved, or None.

    Example:
        >>> def tag(storage):
        ...     return None
        ...
        >>> def place(storage, location):
        ...     return None
        ...
        >>> register_package(99, tag, place)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The tag of a storage: that of the first package that has one, else its device.

    Example:
        >>> import tl_core
        >>> location_tag(tl_core.ones(2).untyped_storage())
        'cpu'
    """
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag is not None:
            return tag
    return str(storage.device)


def target_of(map_location: Any, location: str) -> str:
    """The device that `map_location`, which is no callable, gives a tag."""
    if map_location is None:
        return location
    if isinstance(map_location, dict):
        return str(map_location.get(location, location))
    return str(map_location)


def restore_location(storage: UntypedStorage, location: str) -> Any:
    """A storage at the place that a tag names."""
    if location == "cpu":
        return storage
    for _, _, deserializer in _packages:
        moved = deserializer(storage, location)
        if moved is not None:
            return moved
    if location.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    try:
        device = tl_core.device(location)
        return tensor_on(storage, tl_core.uint8, (storage.nbytes(),), (1,)).to(device).untyped_storage()
    except RuntimeError as error:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
        ) from error


def relocate(storage: UntypedStorage, map_location: Any, location: str) -> Any:
    """A storage that was read from a file, where `map_location` wants it.

    Args:
        storage: the storage, on the CPU.
        map_location: as `load` takes it.
        location: the tag that the file holds.
    """
    if not callable(map_location):
        return restore_location(storage, target_of(map_location, location))
    moved = map_location(storage, location)
    return restore_location(storage, location) if moved is None else moved
