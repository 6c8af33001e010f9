"""Graphs run with fakes in place of tensors."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core.subclasses import FakeTensor
from tl_nn.func import functional_call

from ..interpreter import Interpreter

__all__ = ["FakeRun"]


class FakeRun(Interpreter):
    """Runs a graph in a fake mode, with fakes of the module's tensors; without a mode as it is.

    Args:
        gm: the module whose graph is run.
        fake_mode: a `FakeTensorMode`, or None.
    """

    def __init__(self, gm: Any, fake_mode: Any | None = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def _fake(self, value: Any) -> Any:
        if self.fake_mode is None or not isinstance(value, tl_core.Tensor):
            return value
        return self.fake_mode.from_tensor(value)

    def _own_fake(self, value: Any) -> Any:
        """The fake of a module's tensor. One that is a fake already must be of this mode: others know other symbols."""
        if (
            isinstance(value, FakeTensor)
            and self.fake_mode is not None
            and value.fake_mode is not self.fake_mode
        ):
            raise AssertionError(
                "Mixing fake modes NYI: the module's parameters are fakes of another FakeTensorMode than the one "
                "that the graph is run in"
            )
        return self._fake(value)

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module; in a fake mode, a fake of it.

        Args:
            target: its dotted path.

        Returns:
            The value.
        """
        return self._own_fake(super().fetch_attr(target))

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a submodule; in a fake mode, with fakes of its parameters and buffers.

        Args:
            target: its dotted path.
            args, kwargs: the arguments.

        Returns:
            Its result.
        """
        if self.fake_mode is None:
            return super().call_module(target, args, kwargs)
        module = super().fetch_attr(str(target))
        state = {name: self._own_fake(value) for name, value in module.state_dict(keep_vars=True).items()}
        return functional_call(module, state, args, kwargs)

    def _run_faked(self, args: tuple[Any, ...]) -> Any:
        """Runs the graph inside the mode."""
        if self.fake_mode is None:
            return super().run(*args)
        with self.fake_mode:
            return super().run(*args)
