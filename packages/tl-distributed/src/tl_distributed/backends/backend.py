"""The names of backends, and what makes their communicators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, ClassVar

from .communicator import Communicator
from .group_context import GroupContext
from .single_process import SingleProcess

Maker = Callable[[GroupContext], Communicator]

_makers: dict[str, Maker] = {}


class Backend(str):
    """The name of a backend, in lower case: `Backend("GLOO") == Backend.GLOO == "gloo"`.

    `gloo` is for CPU tensors; `fake` is a group of any size in one process, which counts what it would move.
    `mpi` needs the extra of that name, and `nccl` NVIDIA's libraries. `ucc` and `xccl` are names that programs ask for;
    they are not there.

    Example:
        >>> import tl_distributed as dist
        >>> dist.Backend("GLOO"), dist.Backend.GLOO
        ('gloo', 'gloo')
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"

    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {
        "cpu": GLOO,
        "cuda": NCCL,
        "xpu": XCCL,
        "mps": GLOO,
    }
    backend_capability: ClassVar[dict[str, list[str]]] = {
        GLOO: ["cpu", "cuda"],
        NCCL: ["cuda"],
        XCCL: ["xpu"],
        UCC: ["cpu", "cuda"],
        MPI: ["cpu", "cuda"],
        FAKE: ["cpu", "cuda"],
    }

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend: name must be a str, got {type(name).__name__}")
        return str.__new__(cls, name.lower())

    @classmethod
    def register_backend(
        cls,
        name: str,
        func: Callable[..., Communicator],
        extended_api: bool = False,
        devices: str | list[str] | None = None,
    ) -> None:
        """Makes a backend known.

        Args:
            name: what programs will give to `init_process_group`.
            func: a subclass of `Communicator`, which is called with a `GroupContext`; or a function of
                (store, rank, size, timeout) that returns a `Communicator`.
            extended_api: whether `func` is a function of (context, options), with all that is known of the group.
            devices: the kinds of devices whose tensors it moves; None stands for "cpu" and "cuda".
        """
        lower = name.lower()
        if lower in _makers:
            raise RuntimeError(f"register_backend: there is a backend named {lower!r} already")
        kinds = (
            ["cpu", "cuda"] if devices is None else [devices] if isinstance(devices, str) else list(devices)
        )
        setattr(cls, name.upper(), lower)
        if lower not in cls.backend_list:
            cls.backend_list.append(lower)
        cls.backend_capability[lower] = kinds
        for kind in kinds:
            cls.default_device_backend_map.setdefault(kind, lower)
        _makers[lower] = _maker(func, extended_api)


class BackendConfig:
    """The backend of each kind of device, written `cpu:gloo,cuda:nccl`.

    Args:
        backend: one name for all kinds of device that it serves, such a list, or "undefined" for the default of each.

    Example:
        >>> import tl_distributed as dist
        >>> dist.BackendConfig(dist.Backend("cpu:gloo"))
        cpu:gloo
    """

    def __init__(self, backend: str):
        self.device_backend_map = _parse(backend)

    def get_device_backend_map(self) -> dict[str, str]:
        """Kind of device -> name of backend."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())


def _parse(text: str) -> dict[str, str]:
    if text == Backend.UNDEFINED:
        return {"cpu": Backend.default_device_backend_map["cpu"]}
    if ":" not in text:
        return dict.fromkeys(Backend.backend_capability[_check_name(text)], text)
    pairs = [part.split(":") for part in text.split(",")]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise ValueError(f'backend: expected "DEVICE:NAME,DEVICE:NAME", got {text!r}')
    if len({device for device, _ in pairs}) < len(pairs):
        raise ValueError(f"backend: a kind of device stands twice in {text!r}")
    return {device: _check_name(name) for device, name in pairs}


def _check_name(name: str) -> str:
    if name not in Backend.backend_capability:
        raise AssertionError(
            f"unknown backend type {name}; known are {', '.join(Backend.backend_capability)}"
        )
    return name


def is_backend_available(backend: str) -> bool:
    """True if a backend is there.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_backend_available("gloo")
        True
    """
    name = backend.lower()
    if name in _makers:
        return True
    if name == Backend.NCCL:
        from .nccl import is_there

        return is_there()
    return name == Backend.MPI and find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """True: the backend for CPU tensors is always there.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_gloo_available()
        True
    """
    return is_backend_available(Backend.GLOO)


def is_nccl_available() -> bool:
    """True if NCCL and NVIDIA's driver can be loaded.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_nccl_available() in (True, False)
        True
    """
    return is_backend_available(Backend.NCCL)


def is_mpi_available() -> bool:
    """True if mpi4py is there, the extra `mpi`.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_mpi_available() in (True, False)
        True
    """
    return is_backend_available(Backend.MPI)


def is_ucc_available() -> bool:
    """False: UCC is absent.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_ucc_available()
        False
    """
    return is_backend_available(Backend.UCC)


def is_xccl_available() -> bool:
    """False: XCCL is absent.

    Example:
        >>> import tl_distributed as dist
        >>> dist.is_xccl_available()
        False
    """
    return is_backend_available(Backend.XCCL)


def _maker(func: Callable[..., Communicator], extended_api: bool) -> Maker:
    if extended_api:
        return lambda context: func(context, context.options)
    if isinstance(func, type):  # a class of communicators
        maker: Maker = func
        return maker
    return lambda context: func(context.store, context.rank, context.size, context.timeout)


def make(name: str, context: GroupContext) -> Communicator:
    """The communicator of a group of processes.

    Raises:
        RuntimeError: the backend isn't there.
    """
    if brings_ranks(name):
        return _make_mpi(context)
    if name == Backend.NCCL and name not in _makers:
        return _make_nccl(context)
    if name not in _makers:
        raise RuntimeError(f"the backend {name!r} is not there; available: {', '.join(_makers)}")
    return _makers[name](context)


def brings_ranks(name: str) -> bool:
    """True for `mpi`, which knows the ranks and needs no store, unless a program has registered another one.

    Args:
        name: the name of a backend.
    """
    return name == Backend.MPI and name not in _makers


def _make_mpi(context: GroupContext) -> Communicator:
    from .mpi import MpiBackend

    return MpiBackend(context)


def _make_nccl(context: GroupContext) -> Communicator:
    from .nccl import NcclBackend

    return NcclBackend(context)


@contextmanager
def all_backends_are(maker: Maker) -> Iterator[None]:
    """Within the block, a function makes the communicators of every backend, also of those that aren't there."""
    before = dict(_makers)
    _makers.update(dict.fromkeys(Backend.backend_capability, maker))
    try:
        yield
    finally:
        _makers.clear()
        _makers.update(before)


def make_gloo(context: GroupContext) -> Communicator:
    """The backend for CPU tensors."""
    if context.size == 1:
        return SingleProcess(context)
    from .engine_backend import EngineBackend

    return EngineBackend(context)


def make_fake(context: GroupContext) -> Communicator:
    """The backend whose other ranks are not there."""
    from .fake import FakeGroup

    return FakeGroup(context)


_makers[Backend.GLOO] = make_gloo
_makers[Backend.FAKE] = make_fake


def get_default_backend_for_device(device: Any) -> str:
    """The backend that serves a kind of device by default.

    Args:
        device: a device, or its kind as a text.

    Example:
        >>> import tl_distributed as dist
        >>> dist.get_default_backend_for_device("cpu")
        'gloo'
    """
    kind = device if isinstance(device, str) else device.type
    name = Backend.default_device_backend_map.get(kind.partition(":")[0])
    if name is None:
        raise ValueError(f"there is no default backend for the device {device}")
    return name
