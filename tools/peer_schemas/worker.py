"""Runs drawn calls with one library, and writes their outcomes: `python -m tools.peer_schemas.worker MODULE`.

Reads one request a line from the standard input, and writes one pickled list of outcomes for each to the standard
output. Parent and worker are of one user, so pickle is safe here.
"""

from __future__ import annotations

import importlib
import json
import pickle
import signal
import struct
import sys
import warnings
from typing import Any

from tools.peer_schemas.drawing import Argument, Call, DrawnTensor, draw_call
from tools.peer_schemas.transforms import TRANSFORMS

SECONDS = 5  # of CPU time, after which a call is given up

WIDE = {"bfloat16": "float32", "complex32": "complex64"}  # of types that NumPy lacks


class OutOfTime(Exception):
    """A call took more CPU time than it may."""


def _give_up(*_: Any) -> None:
    raise OutOfTime


class Runner:
    """Makes tensors and calls operators with one library.

    Args:
        library: the module, as `torch` or `tl`.
    """

    def __init__(self, library: Any) -> None:
        self.library = library

    def tensor(self, drawn: DrawnTensor) -> Any:
        """The tensor with its layout."""
        dtype = getattr(self.library, drawn.dtype)
        t = self.library.tensor(drawn.elements, dtype=dtype).reshape(drawn.shape)
        if drawn.layout == "transposed" and t.dim() >= 2:
            return t.transpose(-1, -2).contiguous().transpose(-1, -2)
        if drawn.layout == "strided" and t.dim() >= 1:
            return self.library.stack([t, t], -1)[..., 0]
        if drawn.layout == "expanded" and t.dim() >= 1 and t.shape[0]:
            return t[:1].expand(drawn.shape)
        if drawn.layout == "channels_last" and t.dim() == 4:
            return t.contiguous(memory_format=self.library.channels_last)
        return t

    def value(self, drawn: Any) -> Any:
        """An argument as the operator takes it."""
        if isinstance(drawn, DrawnTensor):
            return self.tensor(drawn)
        return [self.value(item) for item in drawn] if isinstance(drawn, list) else drawn

    def outcome(self, operator: str, overload: str, call: Call, of: str = "results") -> tuple[str, Any]:
        """What the call gives: ("returns", results and written arguments), ("raises", type and text), or "absent".

        Args:
            operator: its name.
            overload: its name.
            call: the arguments.
            of: "results", or the transform that is returned in their place.
        """
        function = getattr(getattr(self.library.ops.aten, operator, None), overload, None)
        if function is None:
            return "absent", None
        args = [self.value(a) for a in call.args]
        kwargs = {name: self.value(a) for name, a in call.kwargs.items()}
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            if of != "results":
                return "returns", self.plain(TRANSFORMS[of](self.library, function, args, kwargs))
            result = function(*args, **kwargs)
        except Exception as error:
            return "raises", ([c.__name__ for c in type(error).__mro__], str(error)[:200])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return "returns", [self.plain(x) for x in (result, args)]

    def plain(self, value: Any) -> Any:
        """A value without the library: tensors as (dtype, array), others as text."""
        if isinstance(value, (list, tuple)):
            return [self.plain(item) for item in value]
        if not isinstance(value, self.library.Tensor):
            return (
                repr(value) if isinstance(value, (int, float, complex, bool, str)) else type(value).__name__
            )
        dtype = str(value.dtype).rpartition(".")[2]
        dense = value.to_dense() if value.layout != self.library.strided else value
        dense = dense.detach().resolve_conj().resolve_neg()
        if wide := WIDE.get(dtype):
            dense = dense.to(getattr(self.library, wide))
        return dtype, dense.numpy()


def main() -> None:
    """Answers requests until the input ends."""
    runner = Runner(importlib.import_module(sys.argv[1]))
    runner.library.set_num_threads(1)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _give_up)
    answers = sys.stdout.buffer
    for line in sys.stdin:
        request = json.loads(line)
        arguments = [Argument(**a) for a in request["arguments"]]
        call = draw_call(request["operator"], arguments, request["seed"], request["of"] == "results")
        outcome = runner.outcome(request["operator"], request["overload"], call, request["of"])
        answer = pickle.dumps(outcome)
        answers.write(struct.pack("<q", len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    main()
