"""`tl examples`: lists the example programs, or runs one of them."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

PROGRAM = "python -m tl.examples"
_PARTS = ("corpus",)  # a module that examples share


def names() -> list[str]:
    """The names of the examples."""
    modules = (module.name for module in iter_modules([str(Path(__file__).parent)]))
    return [name for name in modules if not name.startswith("_") and name not in _PARTS]


def summary(name: str) -> str:
    """The first sentence of an example's text. The example is not imported."""
    source = Path(__file__).with_name(f"{name}.py").read_text("utf-8")
    return source.removeprefix('"""').partition("\n")[0].removesuffix('"""').rstrip(".")


def get_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of the command."""
    parser = argparse.ArgumentParser(program, description="Lists the example programs, or runs one of them.")
    parser.add_argument("name", nargs="?", choices=names(), metavar="NAME", help="the example to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments, such as --help")
    return parser


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Lists the examples or runs one. Returns the exit status.

    Args:
        arguments: the words of the command line, by default those of the process.
        program: the name of the program, for messages.
    """
    options = get_parser(program).parse_args(arguments)
    if options.name is not None:
        return int(import_module(f"tl.examples.{options.name}").main(options.arguments))
    width = max(map(len, names()))
    for name in names():
        print(f"  {name.ljust(width)}  {summary(name)}")
    print(f"\n`{program} NAME --help` shows the options of an example.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
