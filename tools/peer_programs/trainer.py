"""Runs drawn training loops with one library: `python -m tools.peer_programs.trainer MODULE`, as `worker` does."""

from __future__ import annotations

import importlib
import io
import math
import sys
from typing import Any

import numpy as np

from tools.peer_programs.worker import answer

__all__ = ["run"]

BATCH, FEATURES, CLASSES = 5, 6, 4


class Loop:
    """The names that statements of a loop use.

    Args:
        library: the module.
    """

    def __init__(self, library: Any) -> None:

        def module(name: str) -> Any:
            return importlib.import_module(f"{library.__name__}.{name}")

        self.torch, self.nn, self.optim = library, module("nn"), module("optim")
        self.averages: list[Any] = []
        self.swa, self.utils = module("optim.swa_utils"), module("nn.utils")
        self.names: dict[str, Any] = {
            **vars(module("optim.lr_scheduler")),
            "torch": library,
            "nn": self.nn,
            "optim": self.optim,
            "SWALR": self.swa.SWALR,
            "First": self._first(),
            "F": module("nn.functional"),
            "parametrizations": module("nn.utils.parametrizations"),
        }
        for function in (self.filled, self.halves, self.reload, self.toggle, self.average, self.step):
            self.names[function.__name__] = function

    def _first(self) -> type:
        # The base is known when the library is: no checker can name it.
        class First(self.nn.Module):  # type: ignore[name-defined]
            """The first result of a module.

            Args:
                inner: the module.
            """

            def __init__(self, inner: Any) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, x: Any) -> Any:
                """The result."""
                return self.inner(x)[0]

        return First

    def numbers(self, *shape: int, seed: int) -> Any:
        """Numbers of a formula, which are the same in both libraries."""
        count = math.prod(shape)
        values = [math.sin(1.7 * i * (seed + 1) + seed) for i in range(count)]
        return self.torch.tensor(values, dtype=self.torch.float64).reshape(shape)

    def filled(self, model: Any) -> Any:
        """The model in float64, with parameters of a formula."""
        model = model.to(self.torch.float64)
        with self.torch.no_grad():
            for index, parameter in enumerate(model.parameters()):
                parameter.copy_(self.numbers(*parameter.shape, seed=index) * 0.4)
        return model

    def halves(self, model: Any) -> list[dict[str, Any]]:
        """Two groups of the parameters."""
        parameters = list(model.parameters())
        middle = len(parameters) // 2
        return [
            {"params": parameters[:middle], "lr": 0.01},
            {"params": parameters[middle:], "weight_decay": 0.05},
        ]

    def reload(self, model: Any, optimizer: Any) -> None:
        """Writes both states to a file and loads them."""
        file = io.BytesIO()
        self.torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        states = self.torch.load(file, weights_only=True)
        model.load_state_dict(states["model"])
        optimizer.load_state_dict(states["optimizer"])

    def toggle(self, model: Any) -> None:
        """Freezes or trains the first parameter."""
        first = next(model.parameters())
        first.requires_grad_(not first.requires_grad)

    def average(self, model: Any) -> None:
        """Averages the parameters of the model from now on."""
        self.averages.append(self.swa.AveragedModel(model, use_buffers=True))

    def _loss(self, index: int) -> Any:
        x = self.numbers(BATCH, FEATURES, seed=index % 3)
        y = self.torch.tensor([(3 * i + index) % CLASSES for i in range(BATCH)])
        return self.names["loss"](self.names["model"](x), y)

    def step(self, index: int, clip: str, parts: int, scaled: bool, to_none: bool) -> list[float]:
        """A step of training. Returns its loss, its gradient's norm and the rates after it."""
        optimizer, scheduler, model = (self.names[name] for name in ("optimizer", "scheduler", "model"))
        if isinstance(optimizer, self.optim.LBFGS):

            def closure() -> Any:
                optimizer.zero_grad()
                loss = self._loss(index)
                loss.backward()
                return loss

            results = [float(optimizer.step(closure).detach())]
        else:
            results = self._descend(index, clip, parts, scaled, to_none)
        if isinstance(scheduler, self.names["ReduceLROnPlateau"]):
            scheduler.step(results[0])
        elif scheduler is not None:
            scheduler.step()
        for average in self.averages:
            average.update_parameters(model)
        return results + [float(group["lr"]) for group in optimizer.param_groups]

    def _descend(self, index: int, clip: str, parts: int, scaled: bool, to_none: bool) -> list[float]:
        optimizer, model = self.names["optimizer"], self.names["model"]
        scaler = self.torch.amp.GradScaler("cpu", init_scale=4.0, enabled=scaled)
        optimizer.zero_grad(set_to_none=to_none)
        results = []
        for part in range(parts):
            loss = self._loss(index + part) / parts
            scaler.scale(loss).backward()
            results.append(float(loss.detach()))
        scaler.unscale_(optimizer)
        parameters = list(model.parameters())
        if clip == "value":
            self.utils.clip_grad_value_(parameters, 0.05)
        elif clip:
            order = math.inf if clip == "largest" else 2.0
            results.append(float(self.utils.clip_grad_norm_(parameters, 0.5, norm_type=order)))
        scaler.step(optimizer)
        return results

    def state(self) -> list[Any]:
        """All numbers at the end: parameters and buffers of the model and its averages, and the optimizer's state."""
        modules = [self.names["model"], *self.averages]
        tensors = [t for module in modules for t in (*module.parameters(), *module.buffers())]
        for state in self.names["optimizer"].state_dict()["state"].values():
            tensors += [state[name] for name in sorted(state) if isinstance(state[name], self.torch.Tensor)]
        return [t.detach().to(self.torch.float64).numpy().copy() for t in tensors]


def run(library: Any, statements: list[str]) -> list[Any]:
    """What each statement of a loop returns, and the numbers at the end. What follows an error is the error.

    Args:
        library: the module.
        statements: the loop, as `loops.draw_loop` returns it.
    """
    loop = Loop(library)
    outcome: list[Any] = []
    try:
        for statement in statements:
            if statement.startswith("step("):
                outcome.append(("numbers", [np.array(eval(statement, loop.names))]))
            else:
                exec(statement, loop.names)  # of this tool's texts
                outcome.append(("returns", ()))
        outcome.append(("numbers", loop.state()))
    except Exception as error:  # an outcome, which is compared with the other library's
        missing = len(statements) + 1 - len(outcome)
        outcome += [("raises", type(error).__name__, str(error))] * missing
    return outcome


if __name__ == "__main__":
    answer(importlib.import_module(sys.argv[1]), run)
