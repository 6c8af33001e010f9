"""`torch._dynamo.compiled_autograd`: the backward pass of the engine as one graph, which tl lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["disable", "enable"]


def enable(compiler_fn: Any) -> NoReturn:
    """A region in which backward passes become graphs.

    Args:
        compiler_fn: the compiler of such graphs.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "compiled_autograd.enable(): tl captures no backward pass of the engine; "
        "torch._dynamo.backends.common.aot_autograd captures that of a graph"
    )


@contextlib.contextmanager
def disable() -> Iterator[None]:
    """A region in which backward passes run as they are, as everywhere in tl."""
    yield
