"""The checkpoints of a training run, one directory per step: the newest complete one, and the retention."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import re
import warnings
from typing import Any

from .background import background
from .filesystem import METADATA, FileSystemReader
from .future import Future
from .metadata import Metadata
from .state_dict_loader import load
from .state_dict_saver import AsyncSaveResponse, async_save, save

__all__ = ["CheckpointManager"]

_STEP = re.compile(r"step_(\d+)")


class CheckpointManager:
    """The checkpoints in a directory, by training step.

    Args:
        path (str or path): The directory; the first save makes it. Each step has a directory `step_<number>` in it.
        keep (int, optional): Number of complete checkpoints to keep; a new one deletes the oldest. By default all
            are kept.

    Example:
        >>> import tempfile, tl_core
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = CheckpointManager(folder, keep=2)
        ...     for step in (10, 20, 30):
        ...         _ = checkpoints.save(step, {"weight": tl_core.ones(2) * step})
        ...     state = {"weight": tl_core.zeros(2)}
        ...     checkpoints.steps(), checkpoints.load(state), state["weight"]
        ([20, 30], 30, tensor([30., 30.]))
    """

    def __init__(self, path: str | os.PathLike[str], keep: int | None = None) -> None:
        if keep is not None and keep < 1:
            raise ValueError(f"keep must be at least 1, got {keep}")
        self.path = os.fspath(path)
        self.keep = keep

    def directory(self, step: int) -> str:
        """The directory of a step's checkpoint."""
        if step < 0:
            raise ValueError(f"step must not be negative, got {step}")
        return os.path.join(self.path, f"step_{step:08d}")

    def steps(self) -> list[int]:
        """The steps of all complete checkpoints, in order; incomplete ones are skipped."""
        return sorted(step for step in self._there() if self._is_complete(step))

    def latest(self) -> int | None:
        """The step of the newest complete checkpoint; None if there is none."""
        for step in sorted(self._there(), reverse=True):
            if self._is_complete(step):
                return step
        return None

    def save(self, step: int, state_dict: dict[str, Any], **options: Any) -> Metadata:
        """Save a step's state dict, then delete old checkpoints; `options` are arguments of `save`."""
        metadata = save(state_dict, checkpoint_id=self.directory(step), **options)
        self._retain(step)
        return metadata

    def async_save(
        self, step: int, state_dict: dict[str, Any], **options: Any
    ) -> Future[Metadata] | AsyncSaveResponse:
        """Save a step's state dict while the program continues; `options` are arguments of `async_save`."""
        response = async_save(state_dict, checkpoint_id=self.directory(step), **options)
        saved = response.upload_completion if isinstance(response, AsyncSaveResponse) else response
        background.submit(lambda: None if saved.failed() else self._retain(step))
        return response

    def wait(self) -> None:
        """Wait for the saves in progress, and raise the first failure whose result was not read."""
        background.wait()
        background.raise_failure()

    def load(self, state_dict: dict[str, Any], step: int | None = None, **options: Any) -> int:
        """Load the newest complete checkpoint, or the checkpoint of a step, and return the step.

        Raises:
            FileNotFoundError: If there is no complete checkpoint.
            CheckpointException: If it can't be loaded.
        """
        target = self.latest() if step is None else step
        if target is None:
            raise FileNotFoundError(f"there is no complete checkpoint in {self.path}")
        load(state_dict, checkpoint_id=self.directory(target), **options)
        return target

    def _there(self) -> list[int]:
        names = os.listdir(self.path) if os.path.isdir(self.path) else []
        return [int(match[1]) for name in names if (match := _STEP.fullmatch(name))]

    def _is_complete(self, step: int) -> bool:
        try:
            FileSystemReader(self.directory(step)).read_metadata()
        except FileNotFoundError:
            return False
        except (RuntimeError, pickle.UnpicklingError) as error:
            warnings.warn(f"{self.directory(step)} is skipped: {error}", UserWarning, stacklevel=3)
            return False
        return True

    def _retain(self, newest: int) -> None:
        """Deletes checkpoints beyond `keep`, and the files of killed saves before this one."""
        if self.keep is None:
            return
        there = sorted(self._there(), reverse=True)
        # The newest ones only: another rank may be deleting the others.
        steps_to_keep = set(itertools.islice(filter(self._is_complete, there), self.keep))
        for step in there:
            if step < newest and step not in steps_to_keep:
                self._delete(step)

    def _delete(self, step: int) -> None:
        """Deletes a checkpoint, its metadata first, so a partial deletion leaves no checkpoint."""
        folder = self.directory(step)
        try:
            names = sorted(os.listdir(folder), key=lambda name: name != METADATA)
        except FileNotFoundError:  # another rank has deleted it
            return
        for name in names:
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(os.path.join(folder, name))
        with contextlib.suppress(OSError):  # the directory has other files
            os.rmdir(folder)
