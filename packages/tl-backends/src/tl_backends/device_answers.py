"""What the functions of device modules answer where there is no device.

An answer is called with the kind of device, the name that errors show, and the arguments of the call by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tl_backends.devices import index_of, needs_support

if TYPE_CHECKING:
    from tl_backends.device_kind import DeviceKind

Answer = Callable[["DeviceKind", str, dict[str, Any]], Any]


def value(constant: Any) -> Answer:
    """Answers with one value, whatever the arguments."""
    return lambda device, name, arguments: constant


def new(container: type) -> Answer:
    """Answers with an empty container, a new one each time."""
    return lambda device, name, arguments: container()


def nothing(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """Does nothing.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """


def hold(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """A constructor that keeps its arguments.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    self = arguments.pop("self")
    vars(self).update(arguments)


def refuse(shown: str = "{name}", error: type[Exception] | None = None) -> Answer:
    """Raises the error of a device that isn't there.

    Args:
        shown: the call as the error shows it, with `{name}` and the arguments.
        error: the type of error; None for that of the kind of device.
    """

    def answer(device: DeviceKind, name: str, arguments: dict[str, Any]) -> Any:
        raised = device.error(shown.format(name=name, **arguments))
        raise raised if error is None else error(str(raised))

    return answer


def refuse_state(shown: str) -> Answer:
    """Raises the error of a generator's state; an error that is given no device shows the kind."""

    def answer(device: DeviceKind, name: str, arguments: dict[str, Any]) -> Any:
        given = arguments["device"]
        raise device.error(shown.format(device=device.kind if given is None else given))

    return answer


def refuse_states(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """Takes an empty list of generators' states.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    for index, _ in enumerate(arguments["new_states"]):
        raise device.error(f"set_rng_state(…, {index})")


def refuse_index(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """Takes None and negative indices, which select no device.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    index = index_of(arguments["device"], device.kind)
    if index is None or index >= 0:
        raise device.error(f"{name}({arguments['device']!r})")


def refuse_unless_none(argument: str) -> Answer:
    """Takes None, which asks for nothing."""

    def answer(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
        if arguments[argument] is not None:
            raise device.error(name)

    return answer


def refuse_if_true(argument: str) -> Answer:
    """Takes False, which asks for nothing."""

    def answer(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
        if arguments[argument]:
            raise device.error(name)

    return answer


def refuse_unsupported(name: str) -> Answer:
    """Raises the error of streams and events, a RuntimeError for all kinds."""

    def answer(device: DeviceKind, _: str, arguments: dict[str, Any]) -> Any:
        raise needs_support(device.kind, name)

    return answer


def refuse_init(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """Raises the AssertionError of MTIA's start, which has another type than its other errors.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    raise AssertionError(
        f"Torch not compiled with {device.kind.upper()} enabled: "
        f"tl.{device.kind}.{name} needs a device of type {device.kind}"
    )


def refuse_nvtx(device: DeviceKind, name: str, arguments: dict[str, Any]) -> Any:
    """Raises the error of NVIDIA's markers.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? "
        f"tl.{device.kind}.{name} needs a CUDA plug-in"
    )


def on_entry(answer: Answer, name: str | None = None) -> Answer:
    """Answers with a `with` block that answers when it is entered, by the function of another name if one is given."""

    @contextmanager
    def block(device: DeviceKind, own: str, arguments: dict[str, Any]) -> Iterator[None]:
        yield answer(device, name or own, arguments)

    return block


def take_seed(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """Takes a seed; a value that is no number raises ValueError or TypeError, as `int` does.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    int(arguments["seed"])


def select_device_of(device: DeviceKind, name: str, arguments: dict[str, Any]) -> None:
    """The constructor of the block that selects the device of a tensor.

    Args:
        device: the kind of device.
        name: the name that errors show.
        arguments: the arguments of the call, by name.
    """
    its = arguments["obj"].device
    arguments["self"].idx = index_of(its if its.type == device.kind else -1, device.kind)
