"""Modules run at the same time, each in a thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tl_core import is_grad_enabled, set_grad_enabled

from ..modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call each module with its arguments, all at the same time.

    Args:
        modules (sequence of Module): The modules.
        inputs (sequence): For each its arguments, a tuple, or its only argument.
        kwargs_tup (sequence of dict, optional): For each its keyword arguments.
        devices (sequence, optional): The device of each module, without effect on the result.

    Raises:
        AssertionError: If the lengths differ.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.parallel.parallel_apply([tl_nn.ReLU(), tl_nn.Tanh()], [tl_core.zeros(1), tl_core.zeros(1)])
        [tensor([0.]), tensor([0.])]
    """
    kwargs_by_module = [{} for _ in modules] if kwargs_tup is None else kwargs_tup
    for name, sequence in (
        ("inputs", inputs),
        ("kwargs_tup", kwargs_by_module),
        ("devices", devices or modules),
    ):
        if len(sequence) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {name} {len(sequence)}"
            )
    with_grad = is_grad_enabled()
    results: list[Any] = [None] * len(modules)
    errors: list[BaseException | None] = [None] * len(modules)

    def run(index: int) -> None:
        set_grad_enabled(with_grad)
        arguments = inputs[index]
        try:
            results[index] = modules[index](
                *(arguments if isinstance(arguments, (list, tuple)) else (arguments,)),
                **kwargs_by_module[index],
            )
        except BaseException as error:
            errors[index] = error

    if len(modules) == 1:
        run(0)
    else:
        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(modules))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for error in errors:
        if error is not None:
            raise error
    return results
