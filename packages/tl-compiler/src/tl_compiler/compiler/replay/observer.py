"""Observes a call instruction by instruction, and records it where each instruction is one whose effect is known."""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import sys
import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..._C import frame_function, frame_stack, frame_variables, operator_calls, watch_calls
from ..object_parts import is_python_class
from ..purity import is_ours
from ..watch import user_location
from .recorder import Recorder, Step
from .refusal import Refusal
from .world import World

__all__ = ["NULL", "Observer", "Pending"]

NULL = object()  # an empty place of a stack


class Pending(NamedTuple):
    """An instruction whose result is the top of the stack at the next one.

    Args:
        what: "operator" or "store", an operator with or without a result; "asked", a value that is recorded already;
            "frame", a function of Python; "fresh" or "plain", what returns a new object, of no tensors; "pure" or
            "none", anything else, with or without a result.
        step: of an operator.
        function: what is called.
    """

    what: str
    step: Step | None = None
    function: Any = None


class _Frame:
    """A frame that runs, and the instruction that it is in."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.code = frame.f_code
        self.instructions = _instructions(frame.f_code)
        self.pending: Pending | None = None
        self.names: tuple[str, ...] = ()  # of the keyword arguments of the next call
        self.has_called = False  # a function of Python, in the pending instruction


@functools.lru_cache(maxsize=2048)
def _instructions(code: CodeType) -> dict[int, Any]:
    result: dict[int, Any] = {}
    prefixes: list[int] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            prefixes.append(instruction.offset)
            continue
        for offset in (*prefixes, instruction.offset):
            result[offset] = instruction
        prefixes.clear()
    return result


@functools.lru_cache(maxsize=2048)
def _handlers(code: CodeType) -> tuple[tuple[int, int], ...]:
    """The ranges of a code's instructions that a `try` or a `with` block surrounds."""
    return tuple((entry.start, entry.end) for entry in dis._parse_exception_table(code))  # type: ignore[attr-defined]


class Observer:
    """One call that is observed. After a refusal it runs on, unobserved.

    Args:
        args, kwargs: the arguments of the call.
        rules: for the name of each activation instruction, its rule.
        is_compiled: whether each call of the function counts as compiled code, recorded or not.
    """

    def __init__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        rules: dict[str, Callable[[Observer, Any, Any], None]],
        *,
        is_compiled: bool = True,
    ) -> None:
        self.is_compiled = is_compiled
        self.refusal: Refusal | None = None
        self._rules = rules
        self._frames: dict[int, _Frame] = {}
        self._calls = 0
        self._is_on = False
        self.plain_iterators: dict[int, Any] = {}  # whose items are no tensors
        self.has_plain_items = False
        self.world = World(_containers((args, kwargs)))
        self.recorder = Recorder(args, kwargs, self.world)

    # ---- the call
    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function and observes it.

        Args:
            function: the function.
            args, kwargs: its arguments.
        """
        collects = gc.isenabled()
        gc.disable()
        self._calls, self._is_on = operator_calls(), True
        watch_calls(True)
        sys.settrace(self._enter)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(None)
            watch_calls(False)
            self._is_on = False
            if collects:
                gc.enable()

    def description(self, result: Any) -> tuple[Any, ...]:
        """The observed call as a tape takes it.

        Args:
            result: its result.

        Raises:
            Refusal: it can't be replayed.
        """
        if self.refusal is not None:
            raise self.refusal
        return self.recorder.description(result)

    def close(self) -> None:
        """Forgets what the call used."""
        self.world.close()
        self._frames.clear()

    # ---- events
    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self._is_on or frame.f_code is _RUN:
            return None
        self._guard(frame, self._begin_frame)
        if not self._is_on:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._event

    def _event(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self._is_on:
            return None
        if event == "opcode":
            self._guard(frame, self._instruction)
        elif event == "exception":
            self._guard(frame, self._exception)
        elif event == "return":
            self._guard(frame, self._leave)
        return self._event if self._is_on else None

    def _guard(self, frame: FrameType, action: Callable[[FrameType], None]) -> None:
        try:
            action(frame)
            self._calls = operator_calls()
        except Refusal as refusal:
            self._stop(refusal, frame)
        except Exception as error:  # an error of a rule must not reach the program
            self._stop(Refusal(f"a rule failed: {type(error).__name__}: {error}"), frame)

    def _stop(self, refusal: Refusal, frame: FrameType) -> None:
        if refusal.location is None:
            refusal.location = user_location(frame) or (frame.f_code.co_filename, frame.f_lineno)
        self.refusal, self._is_on = refusal, False
        sys.settrace(None)

    def _begin_frame(self, frame: FrameType) -> None:
        caller = self._frames.get(id(frame.f_back))
        if (
            caller is not None
            and caller.pending is not None
            and caller.pending.what in ("operator", "store", "asked")
        ):
            raise Refusal(f"{_name(caller.pending.function)} calls functions of Python")
        if caller is not None:
            caller.has_called = True
        code = frame.f_code
        if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise Refusal("the function is asynchronous")
        self.world.read_function(frame_function(frame))
        if id(frame) not in self._frames:
            self._frames[id(frame)] = _Frame(frame)
            self._mark_arguments(frame)

    def _mark_arguments(self, frame: FrameType) -> None:
        code = frame.f_code
        if code.co_flags & inspect.CO_VARKEYWORDS:
            n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
            value = frame_variables(frame, NULL)[n]
            if type(value) is types.CellType:
                value = value.cell_contents
            self.world.mark_fresh(value)

    def _exception(self, frame: FrameType) -> None:
        activation = self._frames[id(frame)]
        if activation.pending is not None and activation.pending.what in ("operator", "store"):
            raise Refusal(f"{_name(activation.pending.function)} raises")
        activation.pending = None

    def _leave(self, frame: FrameType) -> None:
        self._frames[id(frame)].pending = None

    def _instruction(self, frame: FrameType) -> None:
        activation = self._frames[id(frame)]
        calls = operator_calls()
        if activation.pending is not None:
            pending, activation.pending = activation.pending, None
            if pending.what not in ("operator", "store", "asked") and calls != self._calls:
                raise Refusal(f"operators run inside of {_name(pending.function)}")
            self._complete(activation, pending)
            activation.has_called = False
        elif calls != self._calls:
            raise Refusal("an operator runs that no rule shows")
        instruction = activation.instructions[frame.f_lasti]
        rule = self._rules.get(instruction.opname)
        if rule is None:
            raise Refusal(f"the instruction {instruction.opname} has no rule")
        if self.recorder.numbers and not self._carries(activation, instruction.opname):
            self.recorder.read_numbers(self._operands(activation, instruction))
        rule(self, activation, instruction)

    def _carries(self, activation: _Frame, name: str) -> bool:
        """Whether an instruction moves values without reading them."""
        if name != "RETURN_VALUE":
            return name in _CARRIERS
        caller = self._frames.get(id(activation.frame.f_back))
        if caller is None:
            return len(self._frames) > 0 and activation.frame.f_back.f_code is _RUN  # type: ignore[union-attr]
        function = None if caller.pending is None else caller.pending.function
        return isinstance(function, types.FunctionType) or is_python_class(type(function))

    def _operands(self, activation: _Frame, instruction: Any) -> tuple[Any, ...]:
        """What an instruction may read of the stack."""
        name = instruction.opname
        n = instruction.arg + 2 if name == "CALL" else _OPERANDS.get(name, activation.code.co_stacksize)
        return self.top(activation, n)

    def _complete(self, activation: _Frame, pending: Pending) -> None:
        if pending.what == "store":
            assert pending.step is not None
            self.recorder.finish(pending.step, None)
            self._check_handlers(activation.frame)
            return
        if pending.what in ("asked", "none"):
            return
        if pending.what == "frame" and not activation.has_called:
            raise Refusal(f"{_name(pending.function)} is called, which runs no code of Python")
        result = self.top(activation, 1)[0]
        if pending.what == "operator":
            assert pending.step is not None
            self.recorder.finish(pending.step, result, may_carry=True)
            self._check_handlers(activation.frame)
            if pending.function is getattr and result is not None:
                self.recorder.note_old(result)
        elif pending.what in ("fresh", "plain"):
            self.world.mark_fresh(result)
            if pending.what == "plain":
                self.plain_iterators[id(result)] = result

    def _check_handlers(self, frame: FrameType | None) -> None:
        """Raises where an error after a write would reach a handler of the program, which a replay doesn't run."""
        if not self.recorder.has_written:
            return
        while frame is not None and id(frame) in self._frames:
            if not is_ours(frame.f_globals.get("__name__")) and any(
                start <= frame.f_lasti < end for start, end in _handlers(frame.f_code)
            ):
                raise Refusal("a try or with block surrounds what runs after a write")
            frame = frame.f_back

    # ---- what rules use
    def top(self, activation: _Frame, n: int) -> tuple[Any, ...]:
        """The n topmost values of a frame's stack, the top last.

        Args:
            activation: the frame.
            n: how many.
        """
        return frame_stack(activation.frame, n, NULL)

    def variable(self, activation: _Frame, index: int) -> Any:
        """A variable of a frame.

        Args:
            activation: the frame.
            index: its index among local variables, cells and variables of enclosing functions.
        """
        return frame_variables(activation.frame, NULL)[index]

    def consumer(self, activation: _Frame) -> Any:
        """The function of C that takes the next value of a generator, or None.

        Args:
            activation: the frame of the generator.
        """
        caller = self._frames.get(id(activation.frame.f_back))
        return None if caller is None or caller.pending is None else caller.pending.function

    def operator(
        self, activation: _Frame, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **how: Any
    ) -> None:
        """Records a call of a function of C on tensors, which happens in this instruction.

        Args:
            activation: the frame.
            function: the function.
            args, kwargs: its arguments.
            how: what `Recorder.begin` takes beside.
        """
        what = how.pop("what", "operator")
        activation.pending = Pending(what, self.recorder.begin(function, args, kwargs, **how), function)

    def ask(self, activation: _Frame, function: Any, x: Any) -> None:
        """Records that the value of a tensor is asked for.

        Args:
            activation: the frame.
            function: what converts the tensor.
            x: the tensor.
        """
        value = function(x)  # the instruction converts it again; no operator changes what it reads in between
        self.recorder.finish(self.recorder.begin(function, (x,), {}), value)
        activation.pending = Pending("asked", None, function)


_RUN = Observer.run.__code__
_CARRIERS = frozenset(
    [
        "CACHE", "POP_TOP", "PUSH_NULL", "NOP", "LOAD_CONST", "LOAD_FAST", "STORE_FAST", "SWAP", "COPY", "RESUME",
        "PRECALL", "KW_NAMES", "BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "EXTENDED_ARG",
        "LOAD_GLOBAL", "LOAD_DEREF", "JUMP_FORWARD",
    ]
)  # fmt: skip
_OPERANDS = {
    "LOAD_ATTR": 1,
    "LOAD_METHOD": 1,
    "BINARY_OP": 2,
    "COMPARE_OP": 2,
    "BINARY_SUBSCR": 2,
    "UNARY_NEGATIVE": 1,
}


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def _containers(value: Any) -> list[Any]:
    kind = type(value)
    if kind is tuple or kind is list:
        inner = [c for item in value for c in _containers(item)]
        return [value, *inner] if kind is list else inner
    return [value, *(c for item in value.values() for c in _containers(item))] if kind is dict else []
