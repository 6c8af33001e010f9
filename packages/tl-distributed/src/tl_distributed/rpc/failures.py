"""Errors of remote calls: their texts, and how they travel."""

from __future__ import annotations

import pickle
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from tl_core import Tensor

from .pickling import deserialize
from .worker_info import WorkerInfo


def load(own: WorkerInfo, content: Any, tensors: Sequence[Tensor]) -> tuple[Any, Any, Any]:
    """The function of a call and its arguments.

    Args:
        own: this worker.
        content: pickled.
        tensors: those of the call.

    Raises:
        AttributeError: something in it can't be imported here.
    """
    try:
        function, args, kwargs = deserialize(content, tensors)
    except (AttributeError, ImportError) as error:
        raise AttributeError(
            f"RPC pickler can't load the call on {own.name}: {error}. Functions and classes of a call must be "
            "importable under the same name on the worker that runs it"
        ) from error
    return function, args, kwargs


def unsent(own: WorkerInfo, result: Any, error: Exception) -> Exception:
    """The error of a result that can't be sent.

    Args:
        own: this worker.
        result: the result.
        error: the failure of sending it.
    """
    return RuntimeError(
        f"{own.name} can't send the result, a {type(result).__qualname__}: {type(error).__name__}: {error}"
    )


def unreachable(own: WorkerInfo, to: WorkerInfo, error: Exception) -> Exception:
    """The error of a worker that no message reaches.

    Args:
        own: this worker.
        to: the other worker.
        error: the failure of the connection.
    """
    return RuntimeError(f"{own.name} can't reach {to.name} (rank {to.id}): {_text(error)}")


def ended(own: WorkerInfo, to: WorkerInfo, error: Exception) -> Exception:
    """The error of a worker that ended while a call ran there.

    Args:
        own: this worker.
        to: the worker that ended.
        error: the failure of the connection.
    """
    return RuntimeError(
        f"{to.name} (rank {to.id}) ended while a call of {own.name} ran there: {_text(error)}"
    )


def late(own: WorkerInfo, to: WorkerInfo, limit: float) -> Exception:
    """The error of a call that took too long.

    Args:
        own: this worker.
        to: the worker that ran the call.
        limit: the seconds that the call had.
    """
    return RuntimeError(
        f"RPC ran for more than set timeout ({round(limit * 1000)} ms) and will now be marked with an error: a call "
        f"of {own.name} to {to.name} (rank {to.id})"
    )


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__


def pack(own: WorkerInfo, error: Exception) -> bytes:
    """An error as bytes: its class by name, and its text."""
    kind = type(error)
    lines = "".join(traceback.format_exception(error))
    text = f"On {own!r}:\n{error!r}\n{lines}"
    return pickle.dumps((kind.__module__, kind.__qualname__, text))


def unpack(content: Any) -> Exception:
    """The error of another worker: of its class if this process has the class and it takes a text.

    Args:
        content: what `pack` returned.
    """
    module, name, text = pickle.loads(content)
    kind: Any = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(text)
        except Exception as error:
            return RuntimeError(
                f"{text}\n{module}.{name} can't be made from a text here: {type(error).__name__}: {error}"
            )
    return RuntimeError(text)
