"""Trainings that can be killed at any moment and go on where they were: `--checkpoint DIR`, then also `--resume`.

What is saved every few steps is all that the rest of the training depends on: model, optimizer, random generator, the
place in the data, and the record of what has been so far. A training that was resumed ends with the same bits as one
that was never killed.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import tl
from tl.distributed.checkpoint import CheckpointManager
from tl.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from tl.examples._program import positive
from tl.examples._ranks import ALONE, Ranks

__all__ = ["Batches", "Checkpoints", "add_options"]

NOT_OF_THE_TRAINING = {
    "checkpoint",
    "resume",
    "every",
    "plot",
    "quiet",
    "quickstart",
    "tensorboard",
    "profile",
    "ddp",
    "fsdp",
    "tp",
    "pp",
    "cp",
    "schedule",
    "microbatches",
}


class Batches:
    """Batches of indices into a data set, in an order drawn anew for each epoch; knows how far it is.

    Args:
        count (int): The size of the data set.
        size (int): The size of a batch of one process; the last one of an epoch may be smaller.
        ranks (Ranks): The processes that learn from a batch together; each gets its part.
    """

    def __init__(self, count: int, size: int, ranks: Ranks = ALONE) -> None:
        self.size, self.position, self.order = size * ranks.size, 0, tl.zeros(count, dtype=tl.int64)
        self.ranks = ranks

    def __iter__(self) -> Iterator[tl.Tensor]:
        """What is left of the epoch, or a new one."""
        if self.position == 0:
            self.order.copy_(tl.randperm(len(self.order)))
        while self.position < len(self.order):
            start, self.position = self.position, self.position + self.size
            if len(part := self.ranks.share(self.order[start : self.position])):
                yield part
        self.position = 0

    def state_dict(self) -> dict[str, Any]:
        return {"order": self.order, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.order.copy_(state["order"])
        self.position = state["position"]


class Checkpoints:
    """Where a training stands, saved every few steps in the background, and taken up again if that is asked for.

    Args:
        options (Namespace): The command line.
        model, optimizer (Module, Optimizer): What is saved and loaded.
        record (dict): Numbers, lists and tensors that the training changes.
        parts (objects with a state): Data, schedules.

    Raises:
        SystemExit: If the training to be resumed was begun with other options, or one that isn't is in the way.
    """

    def __init__(
        self, options: argparse.Namespace, model: Any, optimizer: Any, record: dict[str, Any], **parts: Any
    ) -> None:
        # Names of parameters are the same in every cut, indices of optimizers are not.
        self._layout = StateDictOptions(flatten_optimizer_state_dict=True)
        self._model, self._optimizer, self._record, self._parts = model, optimizer, record, parts
        self._every, self.steps = options.every, 0
        self._is_cut = any(vars(options).get(name, 1) > 1 for name in ("fsdp", "tp", "pp", "cp"))
        self._options = {k: v for k, v in vars(options).items() if k not in NOT_OF_THE_TRAINING}
        self._manager = CheckpointManager(options.checkpoint, keep=2) if options.checkpoint else None
        if self._manager and self._manager.latest() is not None:
            if not options.resume:
                raise SystemExit(
                    f"error: {options.checkpoint} has checkpoints: add --resume, or name another folder"
                )
            self._resume(self._manager)

    def step(self) -> None:
        """Counts a step, and saves if it is time to."""
        self.steps += 1
        if self._manager and self.steps % self._every == 0:
            self._save(self._manager)

    def finish(self) -> None:
        """Saves the end, and waits until it is written."""
        if self._manager:
            self._save(self._manager)
            self._manager.wait()

    def _save(self, manager: CheckpointManager) -> None:
        # Parts of tensors are saved by all processes together, whole ones in the background.
        save = manager.save if self._is_cut else manager.async_save
        save(self.steps, self._state())

    def _state(self) -> dict[str, Any]:
        model, optimizer = get_state_dict(self._model, self._optimizer, options=self._layout)
        states = {name: part.state_dict() for name, part in self._parts.items()}
        generator = tl.get_rng_state()
        own = {"model": model, "optimizer": optimizer, "generator": generator, "options": dict(self._options)}
        return {**own, **states, "record": self._record, "steps": self.steps}

    def _resume(self, manager: CheckpointManager) -> None:
        state = self._state()
        manager.load(state)
        for name, value in state["options"].items():
            if value != self._options[name]:
                text = (
                    f"the training in {manager.path} was begun with {name}={value}, not {self._options[name]}"
                )
                raise SystemExit(f"error: {text}")
        model, optimizer = state["model"], state["optimizer"]
        states = {"model_state_dict": model, "optim_state_dict": optimizer}
        set_state_dict(self._model, self._optimizer, **states, options=self._layout)
        for name, part in self._parts.items():
            part.load_state_dict(state[name])
        self._record.update(state["record"])
        self.steps = state["steps"]
        tl.set_rng_state(state["generator"])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of trainings that can be resumed."""
    parser.add_argument("--checkpoint", metavar="DIR", help="save where the training stands in this folder")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the newest checkpoint, if there is one"
    )
    parser.add_argument("--every", type=positive, default=50, help="steps between two checkpoints (50)")
