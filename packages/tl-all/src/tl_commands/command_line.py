"""The command line of `tl`: the list of commands, the version, and the call of a command."""

import os
import sys

from tl_commands.table import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType


_OWN_TEXTS = (["-h"], ["--help"], ["--version"])


def run(words: "Sequence[str]") -> int:
    """Runs the words after `tl`. Returns the exit status."""
    if words and words[0] in COMMANDS and COMMANDS[words[0]].has_program and words[1:2] not in _OWN_TEXTS:
        return _run(words)
    try:
        status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has ended
        # The interpreter flushes the output when it ends, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _run(words: "Sequence[str]") -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0
    if words[0] in ("-V", "--version"):
        print(f"tl {version()}")
        return 0
    if words[0] == "--print-completion":
        from tl_commands.completion import print_completion

        return print_completion(words[1:])
    if words[0] not in COMMANDS:
        print(f"tl: there is no command {words[0]!r}{_suggestion(words[0])}", file=sys.stderr)
        return 2
    return call(words[0], words[1:], f"tl {words[0]}")


def call(name: str, arguments: "Sequence[str]", program: str) -> int:
    """Calls a command by its name in the table.

    Args:
        name: the name.
        arguments: the words after it.
        program: the name for messages, such as `tl run`.

    Returns:
        The exit status.
    """
    _set_first_path()
    _name_pages()
    command = COMMANDS[name]
    try:
        return command.run(arguments, program)
    except (KeyboardInterrupt, OSError) as error:
        if command.has_program or isinstance(error, BrokenPipeError):
            raise
        return _end(error, program)
    except ModuleNotFoundError as error:
        if error.name != command.module.partition(".")[0]:
            raise
        needs = f"needs the package {command.distribution}, which is not installed"
        print(f"{program} {needs}: pip install {command.distribution}", file=sys.stderr)
        return 1


def _end(error: "KeyboardInterrupt | OSError", program: str) -> int:
    if isinstance(error, KeyboardInterrupt):
        return 130  # 128 and the number of SIGINT
    file = f"{error.filename}: " if error.filename else ""
    print(f"{program}: {file}{error.strerror or error}", file=sys.stderr)
    return 1


def overview() -> str:
    """The list of commands."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name.ljust(width)}  {command.summary}" for name, command in COMMANDS.items()]
    usage = "usage: tl [-h] [--version] [--print-completion SHELL] COMMAND [ARGUMENT ...]"
    return "\n".join([usage, "", *rows, "", "`tl COMMAND --help` describes a command."])


def version() -> str:
    """The version of tl-all. It is read without an import of tl."""
    from importlib.util import find_spec, module_from_spec, spec_from_file_location

    package = find_spec("tl")
    folders = (package and package.submodule_search_locations) or ["."]
    spec = spec_from_file_location("tl.version", os.path.join(folders[0], "version.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.__version__)


def _suggestion(word: str) -> str:
    from difflib import get_close_matches

    if word.endswith(".py"):
        return f"; `tl torch {word}` runs a program"
    near = get_close_matches(word, COMMANDS, 1)
    return f"; did you mean {near[0]!r}?" if near else "; `tl --help` lists the commands"


def _name_pages() -> None:
    """Lets the report of an uncaught error of a program end with the name of its page, on a terminal."""
    report = sys.excepthook

    def report_with_page(
        kind: type[BaseException], error: BaseException, traceback: "TracebackType | None"
    ) -> None:
        report(kind, error, traceback)
        if sys.stderr is not None and sys.stderr.isatty():
            from tl_commands.explain import page_of

            page = page_of(f"{kind.__name__}: {error}")
            if page is not None:
                print(f"`tl explain {page.name}` describes causes and fixes", file=sys.stderr)

    sys.excepthook = report_with_page


def _set_first_path() -> None:
    # A script of pip has its own folder here. Programs expect the current folder, as of `python -m`.
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()
