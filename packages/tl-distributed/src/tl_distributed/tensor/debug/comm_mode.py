"""Counts the collectives of a block, by the module that computes."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import tl_core
from tl_nn import Module, modules

from ...collectives import functional_operators  # noqa: F401 - registers the operators
from ...nn import functional_collectives
from .. import dispatch, redistribute
from ..dtensor import DTensor

__all__ = ["CommDebugMode"]

# The operators by which PyTorch names the collectives.
_COLLECTIVES = {
    "all_gather_into_tensor": "all_gather_into_tensor",
    "all_gather": "all_gather_into_tensor",
    "all_reduce": "all_reduce",
    "reduce_scatter": "reduce_scatter_tensor",
    "reduce_scatter_tensor": "reduce_scatter_tensor",
    "all_to_all": "all_to_all_single",
    "all_to_all_single": "all_to_all_single",
    "broadcast": "broadcast",
}


class _Calls(threading.local):
    """The names of the modules whose calls have begun in a thread, and whether a collective has."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self.is_inside = False


class CommDebugMode:
    """A block that counts the collectives of distributed tensors, of `nn.functional_collectives` and of plain calls.

    Example:
        >>> import tl_distributed as dist
        >>> from tl_distributed.tensor import Shard, ones
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> with CommDebugMode() as mode:
        ...     total = ones(4, device_mesh=mesh, placements=[Shard(0)]).sum().full_tensor()
        ...
        >>> mode.get_total_counts()
        0
        >>> dist.destroy_process_group()
    """

    def __init__(self) -> None:
        self.comm_counts: Counter[Any] = Counter()
        self.by_module: dict[str, Counter[Any]] = {}
        self.operators: dict[str, list[str]] = {}
        self.parameter_info: dict[str, dict[str, Any]] = {}
        self.sharding_info: dict[str, dict[str, Any]] = {}
        self._calls = _Calls()
        self._lock = threading.Lock()  # of the counts: threads, and the ranks of one process, add to them
        self._undo: list[Callable[[], None]] = []

    # ---- the block

    def __enter__(self) -> Self:
        self.comm_counts.clear()
        self.by_module.clear()
        self.operators.clear()
        self.parameter_info.clear()
        self.sharding_info.clear()
        for module in (redistribute.collectives, functional_collectives):
            for name in _COLLECTIVES:
                if callable(getattr(module, name, None)):
                    self._replace(module, name)
        self._replace_dispatch()
        before = modules.module.register_module_forward_pre_hook(self._enter_module)
        after = modules.module.register_module_forward_hook(self._leave_module, always_call=True)
        self._undo += [before.remove, after.remove]
        return self

    def __exit__(self, *error: object) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, module: Any, name: str) -> None:
        function = getattr(module, name)

        def count(*args: Any, **kwargs: Any) -> Any:
            if self._calls.is_inside:  # a collective that calls another one is one
                return function(*args, **kwargs)
            self._count(name)
            self._calls.is_inside = True
            try:
                return function(*args, **kwargs)
            finally:
                self._calls.is_inside = False

        setattr(module, name, count)
        self._undo.append(lambda: setattr(module, name, function))

    def _replace_dispatch(self) -> None:
        function = dispatch.call

        def record(func: Any, *args: Any) -> Any:
            self.operators.setdefault(self._name(), []).append(str(func))
            return function(func, *args)

        setattr(dispatch, "call", record)  # noqa: B010 - of another type than the function
        self._undo.append(lambda: setattr(dispatch, "call", function))

    def _count(self, name: str) -> None:
        packets: Any = tl_core.ops
        operator = getattr(packets._c10d_functional, _COLLECTIVES[name])
        with self._lock:
            self.comm_counts[operator] += 1
            self.by_module.setdefault(self._name(), Counter())[operator] += 1

    def _name(self) -> str:
        return self._calls.modules[-1] if self._calls.modules else "Global"

    def _enter_module(self, module: Module, args: Any) -> None:
        parent = self._calls.modules[-1] if self._calls.modules else ""
        name = f"{parent}.{type(module).__name__}" if parent else type(module).__name__
        self._calls.modules.append(name)
        for key, parameter in module.named_parameters(recurse=False):
            self.parameter_info.setdefault(name, {})[key] = parameter.data
            if isinstance(parameter, DTensor):
                self.sharding_info.setdefault(name, {})[key] = parameter.placements

    def _leave_module(self, module: Module, args: Any, output: Any) -> None:
        self._calls.modules.pop()

    # ---- results

    def get_comm_counts(self) -> dict[Any, int]:
        """The number of calls of each collective; 0 for one that was not called."""
        return Counter(self.comm_counts)

    def get_total_counts(self) -> int:
        """The number of all calls."""
        return sum(self.comm_counts.values())

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """The parameters of each module that has computed."""
        return self.parameter_info

    def get_sharding_info(self) -> dict[str, dict[str, Any]]:
        """The placements of the distributed parameters of each module that has computed."""
        return self.sharding_info

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """A table of the modules, with their collectives.

        Args:
            noise_level: 0 lists collectives, and higher levels list operators, too.
        """
        lines = []
        for name in dict.fromkeys(["Global", *self.parameter_info, *self.by_module, *self.operators]):
            depth = name.count(".")
            lines.append("  " * depth + name.rpartition(".")[2])
            for operator, count in self.by_module.get(name, {}).items():
                lines.append("  " * (depth + 1) + f"*{operator}: {count}")
            if noise_level > 0:
                lines += ["  " * (depth + 1) + f"**{text}" for text in self.operators.get(name, [])]
        return "\n".join(lines)

    def generate_json_dump(self, file_name: str = "comm_mode_log.json", noise_level: int = 3) -> None:
        """Writes the modules and their collectives as JSON.

        Args:
            file_name: the file.
            noise_level: 0 lists collectives, and higher levels list operators, too.
        """
        names = dict.fromkeys(["Global", *self.parameter_info, *self.by_module, *self.operators])
        entries = [
            {
                "fqn": name,
                "collectives": {str(k): v for k, v in self.by_module.get(name, {}).items()},
                "operators": self.operators.get(name, []) if noise_level > 0 else [],
            }
            for name in names
        ]
        Path(file_name).write_text(json.dumps(entries, indent=1))

    def log_comm_debug_tracing_table_to_file(
        self, file_name: str = "comm_mode_log.txt", noise_level: int = 3
    ) -> None:
        """Writes the table of the modules.

        Args:
            file_name: the file.
            noise_level: 0 lists collectives, and higher levels list operators, too.
        """
        Path(file_name).write_text(self.generate_comm_debug_tracing_table(noise_level) + "\n")
