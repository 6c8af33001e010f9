"""`tl stubs DIRECTORY`: stubs of `torch` for the type checker of a project that imports torch and runs on tl.

The stubs of `tl` are in the package itself, and type checkers and editors read them without settings. A program that
imports `torch` needs the same stubs under the name `torch`, in a directory that its settings name:

    tl stubs stubs

    [tool.mypy]
    mypy_path = "stubs"

    [tool.pyright]
    extraPaths = ["stubs"]

    [tool.ty.environment]
    extra-paths = ["stubs"]

A checker that finds PyTorch's own package as well reads the directory first.
"""

import sys
from pathlib import Path

__all__ = ["write"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def write(directory: str | Path) -> list[Path]:
    """Writes stubs of `torch` and `functorch` into a directory.

    Args:
        directory: The directory, which need not exist. Older stubs in it are replaced.

    Returns:
        The paths of the stubs.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from tl import stubs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = stubs.write(folder)
        ...     Path(folder, "torch", "nn", "functional", "__init__.pyi") in paths
        True
    """
    package = Path(__file__).parent
    texts = {path.relative_to(package): path.read_text("utf-8") for path in package.rglob("*.pyi")}
    paths = [_write(Path(directory, "torch", name), text) for name, text in texts.items()]
    paths.append(
        _write(
            Path(directory, "torch", "version", "__init__.pyi"),
            "from tl.version import *\nfrom tl.version import __version__ as __version__\n",
        )
    )
    paths.append(_write(Path(directory, "functorch", "__init__.pyi"), "from tl.functorch import *\n"))
    return paths


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def get_parser(program: str) -> "ArgumentParser":
    """The parser of the command's arguments.

    Args:
        program: the name of the command, for messages.
    """
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    parser = ArgumentParser(program, description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("directory", help="the directory, which need not exist")
    return parser


def main(arguments: "Sequence[str]", program: str) -> None:
    """Runs the command.

    Args:
        arguments: the words after its name.
        program: the name, for messages.
    """
    parser = get_parser(program)
    directory = parser.parse_args(arguments).directory
    if not directory:
        parser.error("the name of the directory is empty")
    print(f"{len(write(directory))} stubs in {directory}")


if __name__ == "__main__":
    main(sys.argv[1:], "python -m tl.stubs")
