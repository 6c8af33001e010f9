"""The settings of an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import tl_core

from . import constants

Device: TypeAlias = int | str | tl_core.device

__all__ = ["TensorPipeRpcBackendOptions"]


class RpcBackendOptions:
    """The settings that every kind of agent has.

    Args:
        rpc_timeout: the seconds that a call may take, 0 for any number.
        init_method: the address at which the workers meet.

    Example:
        >>> RpcBackendOptions(rpc_timeout=5).init_method
        'env://'
    """

    def __init__(
        self,
        rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = constants.DEFAULT_INIT_METHOD,
    ):
        self.rpc_timeout = rpc_timeout
        self.init_method = init_method

    @property
    def rpc_timeout(self) -> float:
        """The seconds that a call may take, 0 for any number."""
        return self._rpc_timeout

    @rpc_timeout.setter
    def rpc_timeout(self, value: float) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"rpc_timeout must be a number of seconds, got {type(value).__name__}: {value!r}")
        self._rpc_timeout = float(value)

    @property
    def init_method(self) -> str:
        """The address at which the workers meet, such as `env://`."""
        return self._init_method

    @init_method.setter
    def init_method(self, value: str) -> None:
        self._init_method = value


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The settings of the agent, under the name that PyTorch has for them.

    Args:
        num_worker_threads: the most calls that the agent runs at a time.
        rpc_timeout: the seconds that a call may take, 0 for any number.
        init_method: the address at which the workers meet.
        device_maps: for each callee, the devices there by the devices here. The CPU needs none.
        devices: the devices of this worker; only the CPU is known.

    Example:
        >>> options = TensorPipeRpcBackendOptions(num_worker_threads=8, rpc_timeout=20)
        >>> options.num_worker_threads, options.rpc_timeout
        (8, 20.0)
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = constants.DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = constants.DEFAULT_INIT_METHOD,
        device_maps: Mapping[str, Mapping[Device, Device]] | None = None,
        devices: Sequence[Device] | None = None,
        _transports: Sequence[str] | None = None,
        _channels: Sequence[str] | None = None,
    ):
        super().__init__(rpc_timeout, init_method)
        self._device_maps: dict[str, dict[tl_core.device, tl_core.device]] = {}
        self.num_worker_threads = num_worker_threads
        self.device_maps = device_maps or {}
        self.devices = devices or []

    @property
    def num_worker_threads(self) -> int:
        """The most calls that the agent runs at a time."""
        return self._num_worker_threads

    @num_worker_threads.setter
    def num_worker_threads(self, value: int) -> None:
        if value <= 0:
            raise ValueError(f"num_worker_threads must be positive, got {value}")
        self._num_worker_threads = value

    @property
    def device_maps(self) -> dict[str, dict[tl_core.device, tl_core.device]]:
        """For each callee, the devices there by the devices here."""
        return self._device_maps

    @device_maps.setter
    def device_maps(self, value: Mapping[str, Mapping[Device, Device]]) -> None:
        self._device_maps = {}
        for name, device_map in value.items():
            self.set_device_map(name, device_map)

    @property
    def devices(self) -> list[tl_core.device]:
        """The devices of this worker."""
        return self._devices

    @devices.setter
    def devices(self, value: Sequence[Device]) -> None:
        self.set_devices(value)

    def set_device_map(self, to: str, device_map: Mapping[Device, Device]) -> None:
        """Sets the devices of a callee that tensors of this worker's devices go to.

        Args:
            to: the name of the callee.
            device_map: devices there by devices here; no two have the same device there.

        Raises:
            ValueError: the map can't be inverted, or contradicts an earlier one.
        """
        full = dict(self.device_maps.get(to, {}))
        for here, there in device_map.items():
            source, target = tl_core.device(here), tl_core.device(there)
            if full.get(source, target) != target:
                raise ValueError(
                    f"`set_device_map` only supports 1-to-1 mapping, trying to map {source} to {full[source]} "
                    f"and {target}"
                )
            full[source] = target
        if len(set(full.values())) < len(full):
            raise ValueError(
                f"`set_device_map` only supports 1-to-1 mapping, but a device of {to!r} is named twice: {full}"
            )
        self._device_maps[to] = full

    def set_devices(self, devices: Sequence[Device]) -> None:
        """Sets the devices of this worker.

        Args:
            devices: the devices; only the CPU, which needs no mention, is known.

        Raises:
            ValueError: a device isn't known.
        """
        parsed = [tl_core.device(each) for each in devices]
        refused = [each for each in parsed if each.type != "cpu"]
        if refused:
            raise ValueError(f"devices: tensors of remote calls are on the CPU, got {refused}")
        self._devices = parsed
