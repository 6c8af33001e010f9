"""`tl_data.info` and `tl_data.randomness` under PyTorch's names."""

import os
import sys
from types import ModuleType

from tl_data.info import WorkerInfo as WorkerInfo
from tl_data.info import get_worker_info as get_worker_info
from tl_data.info import set_process_info
from tl_data.randomness import generate_state as _generate_state  # noqa: F401 - a name for others


class ManagerWatchdog:
    """Check of a worker process on its parent process."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """Whether the parent process is unchanged."""
        return os.getppid() == self.manager_pid


class _Module(ModuleType):
    @property
    def _worker_info(self) -> WorkerInfo | None:
        """Result of `get_worker_info`. Assign a WorkerInfo to make this process a worker, None to undo it."""
        return get_worker_info()

    @_worker_info.setter
    def _worker_info(self, info: WorkerInfo | None) -> None:
        set_process_info(info)


sys.modules[__name__].__class__ = _Module
