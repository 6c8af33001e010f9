"""The statements of the imports under way, from the frames of a thread, and the `try` blocks around them.

The tables of exceptions and the positions of instructions are those of CPython 3.11 and later.
"""

import importlib
import sys
from functools import lru_cache
from opcode import opmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

IMPORT_NAME, IMPORT_FROM = opmap["IMPORT_NAME"], opmap["IMPORT_FROM"]
ATTRIBUTE = frozenset(opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opmap)
_CALLS = frozenset(opmap[name] for name in ("CALL", "PRECALL") if name in opmap)
_EXTENDED_ARG, _LOAD_CONST = opmap["EXTENDED_ARG"], opmap["LOAD_CONST"]
_PUSH_EXC_INFO = opmap["PUSH_EXC_INFO"]
_MACHINERY = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
_OWN = ("tl._grafts", "tl._absent", "tl._finder", "tl.torch")


def instruction_at(code: bytes, offset: int) -> tuple[int, int]:
    """(the operation at an offset, its argument)."""
    argument, shift, at = code[offset + 1], 8, offset - 2
    while at >= 0 and code[at] == _EXTENDED_ARG:
        argument |= code[at + 1] << shift
        shift, at = shift + 8, at - 2
    return code[offset], argument


def instruction(frame: "FrameType") -> tuple[int, int]:
    """(the current operation of a frame, its argument)."""
    return instruction_at(frame.f_code.co_code, frame.f_lasti)


def asking(frame: "FrameType | None") -> "FrameType | None":
    """The frame that reads an attribute: the first frame outside of the façade."""
    tl = vars(sys.modules["tl"])
    while frame is not None and (frame.f_globals is tl or frame.f_globals.get("__name__") in _OWN):
        frame = frame.f_back
    return frame


def importing(frame: "FrameType | None") -> "FrameType | None":
    """The frame of the import statement that the machinery carries out."""
    frame = asking(frame)
    while frame is not None and is_machinery(frame):
        frame = frame.f_back
    return frame


def is_machinery(frame: "FrameType") -> bool:
    """Whether a frame is of the part of importlib that carries statements out."""
    return frame.f_code.co_filename in _MACHINERY


def loads_below(frame: "FrameType") -> bool:
    """Whether a frame of the machinery reads an attribute of a module to find a module below it."""
    return is_machinery(frame) and frame.f_code.co_name == "_find_and_load_unlocked"


def statement(frame: "FrameType") -> tuple[str, bool] | None:
    """The module that the import statement of a frame names, and whether it is a `from … import`."""
    code = frame.f_code.co_code
    for offset in range(frame.f_lasti & ~1, -1, -2):
        if code[offset] == IMPORT_NAME:
            _, argument = instruction_at(code, offset)
            before = offset - 2
            while code[before] == _EXTENDED_ARG:
                before -= 2
            operation, constant = instruction_at(code, before)
            plain = operation == _LOAD_CONST and frame.f_code.co_consts[constant] is None
            return frame.f_code.co_names[argument], not plain
    return None


def imported_name(frame: "FrameType") -> str | None:
    """The dotted name in the program that a frame at IMPORT_FROM imports."""
    target = statement(frame)
    if target is None or target[0].partition(".")[0] != "torch":
        return None
    module, is_from = target
    name = frame.f_code.co_names[instruction(frame)[1]]
    if is_from:
        return f"{module}.{name}"
    # `import torch.x.y as z` takes y from x, after x from torch
    parts = module.split(".")
    code, offset, depth = frame.f_code.co_code, frame.f_lasti & ~1, 0
    while offset >= 0 and code[offset] != IMPORT_NAME:
        depth += code[offset] == IMPORT_FROM
        offset -= 2
    return ".".join(parts[: depth + 1])


def may_stand_in(frame: "FrameType") -> bool:
    """Whether an import may return a stand-in: it is in a module's body, and no frame handles its failure."""
    if frame.f_code.co_name != "<module>" or in_try(frame.f_code, frame.f_lasti):
        return False
    below, above = frame, frame.f_back
    while above is not None:
        if _waits(above, below):
            return False
        below, above = above, above.f_back
    return True


def _waits(frame: "FrameType", below: "FrameType") -> bool:
    """Whether a frame has begun an import, or has run the body of a module, in a `try` that ends well if it fails."""
    code = frame.f_code
    if instruction(frame)[0] in (IMPORT_NAME, IMPORT_FROM):
        return in_try(code, frame.f_lasti)
    if _is_importlib(frame):
        return False
    if _is_importlib(below) or below.f_code.co_name == "<module>":
        return any(_goes_on(code, handler) for handler in _handlers_of(code, frame.f_lasti))
    return False


def _is_importlib(frame: "FrameType") -> bool:
    return is_machinery(frame) or frame.f_code.co_filename == importlib.__file__


def in_try(code: "CodeType", offset: int) -> bool:
    """Whether an instruction is in the body of a `try` or `with`."""
    return any(True for _ in _handlers_of(code, offset))


def _handlers_of(code: "CodeType", offset: int) -> "Iterator[int]":
    """The offsets of the handlers of an exception at an offset, without the code that ends a handler."""
    table, passed = list(_exception_table(code.co_exceptiontable)), {offset}
    while True:
        offset = next((target for start, end, target in table if start <= offset < end), -1)
        if offset < 0 or offset in passed:
            return
        passed.add(offset)
        if code.co_code[offset] == _PUSH_EXC_INFO:
            yield offset


def _exception_table(table: bytes) -> "Iterator[tuple[int, int, int]]":
    """Start, end and handler of each range: numbers of six bits a byte, as CPython's `exception_handling_notes` say."""
    numbers, value = [], 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    for start, length, target in zip(numbers[::4], numbers[1::4], numbers[2::4], strict=True):
        yield 2 * start, 2 * (start + length), 2 * target


@lru_cache(1024)
def _goes_on(code: "CodeType", handler: int) -> bool:
    """Whether a path leads from a handler to a `return`. Otherwise the handler raises."""
    import dis

    steps = {step.offset: step for step in dis.get_instructions(code)}
    following = dict(zip(steps, list(steps)[1:], strict=False))
    jumps = {*dis.hasjrel, *dis.hasjabs}
    waiting, passed = [handler], set[int]()
    while waiting:
        offset = waiting.pop()
        if offset in passed or offset not in steps:
            continue
        passed.add(offset)
        step = steps[offset]
        if step.opname.startswith("RETURN_") and step.opname != "RETURN_GENERATOR":
            return True
        if step.opname in ("RAISE_VARARGS", "RERAISE"):
            continue
        if step.opcode in jumps:
            waiting.append(step.argval)
        if step.opname not in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"):
            waiting.append(following.get(offset, -1))
    return False


def decorates(frame: "FrameType") -> bool:
    """Whether the current call of a frame applies a decorator to a definition."""
    operation, argument = instruction(frame)
    return operation in _CALLS and argument == 0


def makes_decorator(frame: "FrameType") -> bool:
    """Whether the current call of a frame returns a decorator: the result is called at the same position."""
    code = frame.f_code
    here, later = None, frame.f_lasti // 2
    positions = list(code.co_positions())
    here = positions[later]
    if None in here:
        return False
    for index in range(later + 1, len(positions)):
        operation, argument = instruction_at(code.co_code, 2 * index)
        if positions[index] == here and operation in _CALLS and argument == 0:
            return True
    return False
