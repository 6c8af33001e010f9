"""Modules of other workers."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import tl_core
from tl_core import Tensor
from tl_core.futures import Future
from tl_nn import Module

from ... import rpc
from ...base.remote_device import _remote_device
from ...rpc.pickling import register_reducer

__all__ = ["RemoteModule"]

_REMOTE_MODULE_PICKLED_ATTRIBUTES = (
    "on",
    "device",
    "is_device_map_set",
    "is_scriptable",
    "generated_methods",
    "module_rref",
)
_METHODS = ("forward_async", "forward")
_UNSUPPORTED = (
    "register_buffer", "register_parameter", "add_module", "apply", "cuda", "ipu", "xpu", "cpu", "type", "float",
    "double", "half", "bfloat16", "to", "register_backward_hook", "register_forward_pre_hook",
    "register_forward_hook", "state_dict", "load_state_dict", "named_parameters", "buffers", "named_buffers",
    "children", "named_children", "modules", "named_modules", "requires_grad_", "zero_grad", "share_memory",
    "extra_repr",
)  # fmt: skip


def _create_module(
    module_cls: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], device: str
) -> Module:
    module = module_cls(*args, **kwargs)
    if not isinstance(module, Module):
        raise ValueError(
            "Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, "
            f"but it returns an instance of {type(module)}."
        )
    return module.to(device)


def _parameters(module_rref: rpc.RRef[Module], recurse: bool) -> list[rpc.RRef[Tensor]]:
    return [rpc.RRef(each) for each in module_rref.local_value().parameters(recurse)]


def _set_training(module_rref: rpc.RRef[Module], mode: bool) -> None:
    module_rref.local_value().train(mode)


def _run_forward(
    module_rref: rpc.RRef[Module], device: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    target = tl_core.device(device)

    def convert(value: Any) -> Any:
        return value.to(target) if isinstance(value, Tensor) and value.device != target else value

    return module_rref.local_value()(
        *(convert(each) for each in args), **{name: convert(each) for name, each in kwargs.items()}
    )


class _RemoteModule(Module):
    """A module of another worker.

    Args:
        remote_device: `<worker>/<device>`, or a worker's name.
        module_cls: makes the module there.
        args: its arguments.
        kwargs: its arguments by name.
        _module_interface_cls: an interface of TorchScript, which remote modules don't have here.

    Raises:
        NotImplementedError: an interface is there.
    """

    on: str
    device: str
    module_rref: rpc.RRef[Module]

    def __init__(
        self,
        remote_device: str,
        module_cls: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        _module_interface_cls: Any = None,
    ):
        super().__init__()
        if _module_interface_cls is not None:
            raise NotImplementedError(
                "RemoteModule with an interface of TorchScript: scripts here don't call other workers; leave "
                "`_module_interface_cls` out"
            )
        self._set_target(remote_device)
        call = rpc.rpc_async(
            self.on, _make_there, (module_cls, tuple(args or ()), dict(kwargs or {}), self.device)
        )
        object.__setattr__(self, "module_rref", call.wait())
        self._install_methods()

    def _set_target(self, remote_device: str) -> None:
        target = _remote_device(remote_device)
        worker = target.worker_name()
        rank = target.rank()
        if worker is None and rank is not None:
            worker = rpc.api._to_worker_info(rank).name
        if worker is None:
            raise ValueError(f"remote_device: expected '<worker>/<device>', got {remote_device!r}")
        values = {
            "on": worker,
            "device": str(target.device()),
            "is_device_map_set": False,
            "is_scriptable": False,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "generated_methods", _METHODS)

    def _install_methods(self) -> None:
        for name in _METHODS:
            object.__setattr__(self, name, types.MethodType(getattr(_Methods, name), self))

    def remote_parameters(self, recurse: bool = True) -> list[rpc.RRef[Tensor]]:
        """References to the parameters of the module.

        Args:
            recurse: whether those of its parts belong to them.

        Returns:
            The references, for a `DistributedOptimizer`.
        """
        return rpc.rpc_sync(self.on, _parameters, (self.module_rref, recurse))

    def get_module_rref(self) -> rpc.RRef[Module]:
        """The reference to the module."""
        return self.module_rref

    def train(self, mode: bool = True) -> Any:
        """Sets the module to training, and waits for it."""
        rpc.rpc_sync(self.on, _set_training, (self.module_rref, mode))
        return self

    def eval(self) -> Any:
        """Sets the module to evaluation, and waits for it."""
        return self.train(False)

    def parameters(self, recurse: bool = True) -> NoReturn:
        """Raises ValueError: the parameters are on another worker."""
        raise ValueError(
            "Method ``parameters`` not supported for RemoteModule. Please use ``remote_parameters`` instead."
        )

    def __getstate__(self) -> NoReturn:
        raise RuntimeError(
            "Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC"
        )

    @staticmethod
    def init_from_module_rref(
        remote_device: str, module_rref: rpc.RRef[Module], _module_interface_cls: Any = None
    ) -> RemoteModule:
        """A remote module for a module that is there already.

        Args:
            remote_device: `<worker>/<device>`, or a worker's name.
            module_rref: the reference to the module.
            _module_interface_cls: None.
        """
        remote = RemoteModule.__new__(RemoteModule)
        Module.__init__(remote)
        remote._set_target(remote_device)
        object.__setattr__(remote, "on", module_rref.owner_name())
        object.__setattr__(remote, "module_rref", module_rref)
        remote._install_methods()
        return remote


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(f"Method ``{name}`` not supported for RemoteModule")

    refuse.__name__ = name
    refuse.__doc__ = "Raises ValueError: the module is on another worker."
    return refuse


for _name in _UNSUPPORTED:
    setattr(_RemoteModule, _name, _refusal(_name))


class _Methods:
    """The methods that a remote module gets of its own."""

    def forward_async(self: Any, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts the forward pass there."""
        return rpc.rpc_async(self.on, _run_forward, (self.module_rref, self.device, args, kwargs))

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs the forward pass there."""
        return rpc.rpc_sync(self.on, _run_forward, (self.module_rref, self.device, args, kwargs))


def _make_there(
    module_cls: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], device: str
) -> rpc.RRef[Module]:
    return rpc.RRef(_create_module(module_cls, args, kwargs, device))


class RemoteModule(_RemoteModule):
    """A module of another worker, which runs its forward pass there. Gradients flow within a context.

    Args:
        remote_device: `<worker>/<device>`, or a worker's name for its CPU.
        module_cls: makes the module there.
        args: its arguments.
        kwargs: its arguments by name.

    Raises:
        ValueError: what `module_cls` makes is no module.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_distributed import rpc
        >>> options = rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0")
        >>> rpc.init_rpc("alone", rank=0, world_size=1, rpc_backend_options=options)
        >>> linear = RemoteModule("alone/cpu", tl_nn.Linear, (20, 30))
        >>> linear.forward_async(tl_core.ones(128, 20)).wait().shape
        torch.Size([128, 30])
        >>> rpc.shutdown()
    """

    def __init__(
        self,
        remote_device: str,
        module_cls: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ):
        super().__init__(remote_device, module_cls, args, kwargs)


def _reduce(remote: _RemoteModule) -> Any:
    return _receive, tuple(getattr(remote, name) for name in _REMOTE_MODULE_PICKLED_ATTRIBUTES)


def _receive(*values: Any) -> RemoteModule:
    remote = RemoteModule.__new__(RemoteModule)
    for name, value in zip(_REMOTE_MODULE_PICKLED_ATTRIBUTES, values, strict=True):
        object.__setattr__(remote, name, value)
    remote._install_methods()
    return remote


register_reducer(RemoteModule, _reduce)
register_reducer(_RemoteModule, _reduce)
