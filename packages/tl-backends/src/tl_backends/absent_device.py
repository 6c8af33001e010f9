"""Devices that this installation has no plug-in for: what their modules answer, and the errors that they raise.

Types and opening words of the errors are those that programs and their tests look for.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from tl_backends.devices import index_of


class AbsentDevice:
    """A kind of device that isn't there. Its methods are the functions that the modules of all kinds share.

    Queries say that there is none, statistics are empty, seeds are taken and nothing is seeded; the rest raises.

    Args:
        kind: the device's type, which is the module's name as well.
        error: makes the error that a name raises.
    """

    def __init__(self, kind: str, error: Callable[[str, str], Exception]) -> None:
        self.kind, self._error = kind, error

    def error(self, name: str) -> Exception:
        """The error of a name of the module."""
        return self.error_of(f"{self.kind}.{name}")

    def error_of(self, name: str) -> Exception:
        """The error of a name of another module, such as "backends.mps.get_name"."""
        return self._error(self.kind, f"tl.{name}")

    def runtime_error(self, name: str) -> RuntimeError:
        """The same as a RuntimeError, for what wraps a handle of the driver: pools, graphs."""
        return RuntimeError(str(self.error(name)))

    # Selection.

    def is_available(self) -> bool:
        """Whether a device of this kind can be used: False."""
        return False

    def is_initialized(self) -> bool:
        """Whether the device's runtime has been started: False."""
        return False

    def device_count(self) -> int:
        """The number of devices of this kind: 0."""
        return 0

    def init(self) -> None:
        """Starts the device's runtime.

        Raises:
            AssertionError: there is no device.
        """
        raise self.error("init")

    def current_device(self) -> int:
        """The index of the selected device."""
        raise self.error("current_device")

    def set_device(self, device: Any) -> None:
        """Selects a device, by its index or name; a negative index selects nothing."""
        index = index_of(device, self.kind)
        if index is None or index >= 0:
            raise self.error(f"set_device({device!r})")

    def synchronize(self, device: Any = None) -> None:
        """Waits until a device, the selected one if none is given, has done all its work."""
        raise self.error("synchronize")

    # Properties.

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Whether the selected device computes with bfloat16: False, as there is none."""
        return False

    def get_arch_list(self) -> list[str]:
        """The architectures that kernels were compiled for: none."""
        return []

    def get_gencode_flags(self) -> str:
        """The compiler's flags for these architectures: none."""
        return ""

    def get_device_name(self, device: Any = None) -> str:
        """The name of a device."""
        raise self.error("get_device_name")

    def get_device_capability(self, device: Any = None) -> Any:
        """What a device can do: a major and a minor number, or a dictionary for XPU devices."""
        raise self.error("get_device_capability")

    def get_device_properties(self, device: Any = None) -> Any:
        """All properties of a device."""
        raise self.error("get_device_properties")

    # Memory.

    def empty_cache(self) -> None:
        """Gives memory that is kept for reuse back to the device; there is none."""

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        """The statistics of a device's allocator: empty."""
        return OrderedDict()

    def memory_allocated(self, device: Any = None) -> int:
        """The bytes that tensors take now: 0."""
        return 0

    def max_memory_allocated(self, device: Any = None) -> int:
        """The most bytes that tensors have taken: 0."""
        return 0

    def memory_reserved(self, device: Any = None) -> int:
        """The bytes that the allocator holds now: 0."""
        return 0

    def max_memory_reserved(self, device: Any = None) -> int:
        """The most bytes that the allocator has held: 0."""
        return 0

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """The free and the total bytes of a device."""
        raise self.error("mem_get_info")

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Starts the measurement of the highest values anew."""
        raise self.error("reset_peak_memory_stats")

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        """Starts the counts of all that happened anew."""
        raise self.error("reset_accumulated_memory_stats")

    # Random numbers.

    def manual_seed(self, seed: int) -> None:
        """Seeds the generator of the selected device, if there is one.

        Raises:
            ValueError: the seed isn't a number.
        """
        int(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seeds the generators of all devices, if there are any.

        Raises:
            ValueError: the seed isn't a number.
        """
        int(seed)

    def seed(self) -> None:
        """Seeds the generator of the selected device, if there is one, with a random number."""

    def seed_all(self) -> None:
        """Seeds the generators of all devices, if there are any, with one random number."""

    def initial_seed(self) -> int:
        """The seed of the selected device's generator."""
        raise self.error("initial_seed")

    def get_rng_state(self, device: Any = None) -> Any:
        """The state of a device's generator, as a tensor of bytes."""
        raise self.error(f"get_rng_state({self.kind if device is None else device!r})")

    def get_rng_state_all(self) -> list:
        """The states of all devices' generators: an empty list."""
        return []

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Sets the state of a device's generator."""
        raise self.error(f"set_rng_state(…, {self.kind if device is None else device!r})")

    def set_rng_state_all(self, new_states: Iterable[Any]) -> None:
        """Sets the states of all devices' generators: of none, from an empty list."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)

    # Streams.

    def current_stream(self, device: Any = None) -> Any:
        """The current stream of a device, the selected one if none is given."""
        raise self.error("current_stream")

    def default_stream(self, device: Any = None) -> Any:
        """The stream that is the current one at the start."""
        raise self.error("default_stream")

    def set_stream(self, stream: Any) -> None:
        """Makes a stream the current one; None changes nothing."""
        if stream is not None:
            raise self.error("set_stream")

    def get_stream_from_external(self, data_ptr: int, device: Any = None) -> Any:
        """The stream that another library has made."""
        raise self.error("get_stream_from_external")


def _not_compiled(kind: str, name: str) -> AssertionError:
    return AssertionError(
        f"Torch not compiled with {kind.upper()} enabled: {name} needs a device of type {kind}, tl has only the CPU"
    )


def _without_backend(kind: str, name: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot execute {name} without {kind.upper()} backend: "
        f"it needs a device of type {kind}, tl has only the CPU"
    )


def _no_accelerator(kind: str, name: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot access accelerator device when none is available: {name} needs one, tl has the CPU"
    )


CUDA = AbsentDevice("cuda", _not_compiled)
XPU = AbsentDevice("xpu", _not_compiled)
MTIA = AbsentDevice("mtia", _without_backend)
MPS = AbsentDevice("mps", _without_backend)
ACCELERATOR = AbsentDevice("accelerator", _no_accelerator)
