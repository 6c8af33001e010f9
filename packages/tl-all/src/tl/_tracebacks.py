"""Tracebacks of programs that `tl.torch` runs: they begin with the program's own frames."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType


def hide_runner() -> None:
    """Lets the report of an uncaught exception begin with the program that runs as `__main__` from now on."""
    report, runner = sys.excepthook, sys.modules["__main__"]

    def report_program(
        kind: type[BaseException], error: BaseException, traceback: "TracebackType | None"
    ) -> None:
        program = sys.modules["__main__"]
        if program is not runner:
            traceback = _from(program, traceback)
        elif isinstance(error, SyntaxError):  # the program has not begun
            traceback = None
        report(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = report_program


def _from(program: "ModuleType", traceback: "TracebackType | None") -> "TracebackType | None":
    """The part of a traceback from the first frame of a program. It stays whole without such a frame."""
    rest = traceback
    while rest is not None and rest.tb_frame.f_globals is not vars(program):
        rest = rest.tb_next
    return rest or traceback
