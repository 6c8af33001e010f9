"""Implementations of the functions of device modules without a device.

An answer is called with the kind of device, the name of the function in errors, and the call's arguments by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tl_backends.devices import index_of, needs_support


class AbsentDevice(Protocol):
    """A kind of device, which has a name and an error for calls that need the device."""

    kind: str

    def error(self, name: str) -> Exception:
        """The error of a call.

        Args:
            name: the name of the function in the error.
        """


Answer = Callable[[AbsentDevice, str, dict[str, Any]], Any]


def value(constant: Any) -> Answer:
    """Returns one value for all arguments."""
    return lambda device, name, arguments: constant


def new(container: type) -> Answer:
    """Returns a new empty container."""
    return lambda device, name, arguments: container()


def nothing(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """Does nothing.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """


def hold(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """A constructor that stores its arguments as attributes.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    self = arguments.pop("self")
    vars(self).update(arguments)


def refuse(shown: str = "{name}", error: type[Exception] | None = None) -> Answer:
    """Raises the error of an absent device.

    Args:
        shown: format of the call in the error, with `{name}` and the arguments.
        error: the type of the error; None for the type of the device kind.
    """

    def answer(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> Any:
        """Raises the error of a call."""
        raised = device.error(shown.format(name=name, **arguments))
        raise raised if error is None else error(str(raised))

    return answer


def refuse_state(shown: str) -> Answer:
    """Raises the error of a generator's state; without a device, the error has the kind."""

    def answer(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> Any:
        argument = arguments["device"]
        raise device.error(shown.format(device=device.kind if argument is None else argument))

    return answer


def refuse_states(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """Accepts an empty list of generators' states, and raises for any state.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    for index, _ in enumerate(arguments["new_states"]):
        raise device.error(f"set_rng_state(…, {index})")


def refuse_index(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """Accepts None and negative indices, which select no device, and raises for others.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    index = index_of(arguments["device"], device.kind)
    if index is None or index >= 0:
        raise device.error(f"{name}({arguments['device']!r})")


def refuse_unless_none(argument: str) -> Answer:
    """Accepts None for an argument, and raises for other values."""

    def answer(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
        if arguments[argument] is not None:
            raise device.error(name)

    return answer


def refuse_if_true(argument: str) -> Answer:
    """Accepts a false value of an argument, and raises for a true one."""

    def answer(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
        if arguments[argument]:
            raise device.error(name)

    return answer


def refuse_unsupported(name: str) -> Answer:
    """Raises the error of streams and events, a RuntimeError for all kinds."""

    def answer(device: AbsentDevice, _: str, arguments: dict[str, Any]) -> Any:
        raise needs_support(device.kind, name)

    return answer


def refuse_init(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """Raises AssertionError for MTIA's `init`; MTIA's other errors have another type.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    raise AssertionError(
        f"Torch not compiled with {device.kind.upper()} enabled: "
        f"tl.{device.kind}.{name} needs a device of type {device.kind}"
    )


def refuse_nvtx(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> Any:
    """Raises the error of NVIDIA's markers.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? "
        f"tl.{device.kind}.{name} needs a CUDA plug-in"
    )


def on_entry(answer: Answer, name: str | None = None) -> Answer:
    """A `with` block that calls an answer on entry, under another name if one is given."""

    @contextmanager
    def block(device: AbsentDevice, own: str, arguments: dict[str, Any]) -> Iterator[None]:
        yield answer(device, name or own, arguments)

    return block


def take_seed(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """Accepts a seed; a value that is no number raises ValueError or TypeError, as `int` does.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    int(arguments["seed"])


def select_device_of(device: AbsentDevice, name: str, arguments: dict[str, Any]) -> None:
    """The constructor of the block that selects the device of a tensor.

    Args:
        device: the kind of device.
        name: the name of the function in errors.
        arguments: the arguments of the call, by name.
    """
    tensor_device = arguments["obj"].device
    arguments["self"].idx = index_of(tensor_device if tensor_device.type == device.kind else -1, device.kind)
