"""`python -m tl.utils.show_pickle FILE`: the contents of a pickle, without running it.

`FILE.zip@*/data.pkl` is the member of an archive; `--recursive` looks for it in all archives of a folder.
"""

from __future__ import annotations

import argparse
import fnmatch
import io
import pickle
import pprint
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any, ClassVar, TextIO

__all__ = ["DumpUnpickler", "FakeClass", "FakeObject", "main"]


class FakeObject:
    """Stands for an object that a pickle would have made.

    Args:
        module: the module of its class.
        name: the name of its class.
        args: the arguments of the constructor.

    Example:
        >>> FakeObject("a", "B", (1, "x"))
        a.B(1, 'x')
    """

    def __init__(self, module: str, name: str, args: tuple[Any, ...]) -> None:
        self.module, self.name, self.args = module, name, args
        self.state: Any = None
        self.items: list[Any] = []

    def __repr__(self) -> str:
        text = f"{self.module}.{self.name}({', '.join(map(repr, self.args))})"
        if self.items:
            text += f".extend({self.items!r})"
        return text if self.state is None else f"{text}(state={self.state!r})"

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def append(self, item: Any) -> None:
        """Notes an element, as a pickle of a list gives it."""
        self.items.append(item)

    def extend(self, items: list[Any]) -> None:
        """Notes elements."""
        self.items += items

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items.append((key, value))

    def __hash__(self) -> int:
        return hash((self.module, self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FakeObject) and repr(self) == repr(other)


class FakeClass:
    """A placeholder of a class or function that a pickle names. A call returns a `FakeObject`.

    Args:
        module: its module.
        name: its name.

    Example:
        >>> FakeClass("project", "Tokenizer").name
        'Tokenizer'
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self.__new__ = self.fake_new  # type: ignore[method-assign, assignment]  # pickles ask the class for it

    def __repr__(self) -> str:
        return f"{self.module}.{self.name}"

    def __call__(self, *args: Any) -> FakeObject:
        return FakeObject(self.module, self.name, args)

    def fake_new(self, *args: Any) -> FakeObject:
        """An object, as `cls.__new__(cls, ...)` would give it."""
        return FakeObject(self.module, self.name, args[1:])


_Python: Any = vars(pickle)["_Unpickler"]  # the class in C has no hooks


class DumpUnpickler(_Python):
    """Reads a pickle without importing or calling anything that it names.

    Args:
        file: the file to read from.
        catch_invalid_utf8: whether texts that are no UTF-8 are shown as bytes.
        kwargs: keyword arguments of `pickle._Unpickler`.

    Example:
        >>> _ = DumpUnpickler.dump(io.BytesIO(pickle.dumps({"a": [1, 2]})), sys.stdout)
        {'a': [1, 2]}
    """

    def __init__(self, file: Any, *, catch_invalid_utf8: bool = False, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        self.catch_invalid_utf8 = catch_invalid_utf8

    def load(self) -> Any:
        """The contents of the pickle, with placeholders.

        Raises:
            pickle.UnpicklingError: the file is no pickle, or damaged.
        """
        try:
            return super().load()
        except (
            KeyError,
            AttributeError,
            TypeError,
            IndexError,
            AssertionError,
            EOFError,
            struct.error,
        ) as error:
            raise pickle.UnpicklingError(
                f"no pickle, or a damaged one: {type(error).__name__} {error}"
            ) from error

    def find_class(self, module: str, name: str) -> Any:
        """Returns a placeholder, without an import."""
        return FakeClass(module, name)

    def persistent_load(self, pid: Any) -> Any:
        """A placeholder of external data, such as a tensor's memory."""
        return FakeObject("pers", "obj", (pid,))

    dispatch: ClassVar[dict[int, Any]] = dict(_Python.dispatch)

    def load_binunicode(self) -> None:
        """A text, or bytes if it is no UTF-8 and bytes are allowed."""
        (size,) = struct.unpack("<I", self.read(4))
        if size > sys.maxsize:
            raise pickle.UnpicklingError(f"show_pickle: a text of {size} bytes")
        data = self.read(size)
        try:
            self.append(str(data, "utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            if not self.catch_invalid_utf8:
                raise
            self.append(data)

    dispatch[pickle.BINUNICODE[0]] = load_binunicode

    @classmethod
    def dump(cls, in_stream: Any, out_stream: TextIO) -> Any:
        """Prints the contents of a pickle.

        Args:
            in_stream: the pickle.
            out_stream: where it is printed.

        Returns:
            the contents, with placeholders.
        """
        value = cls(in_stream).load()
        pprint.pprint(value, stream=out_stream)
        return value


def _members(path: Path, pattern: str) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if fnmatch.fnmatch(name, pattern)]
        return [(name, archive.read(name)) for name in names]


def _show(text: str, out: TextIO) -> bool:
    """Prints one pickle, or the matching ones of an archive, and returns whether any matched."""
    name, at, pattern = text.partition("@")
    if not at:
        DumpUnpickler.dump(io.BytesIO(Path(name).read_bytes()), out)
        return True
    members = _members(Path(name), pattern)
    for member, data in members:
        if len(members) > 1:
            print(f"{name}@{member}:", file=out)
        DumpUnpickler.dump(io.BytesIO(data), out)
    return bool(members)


def main(argv: list[str], output_stream: TextIO | None = None) -> int | None:
    """The command line.

    Args:
        argv: its words, the program's name first.
        output_stream: the file to print to, by default stdout.

    Returns:
        int, the exit status: 2 if no file matches or a file can't be read.

    Example:
        >>> main(["show_pickle", "data.pkl"])  # doctest: +SKIP
    """
    out = output_stream or sys.stdout
    parser = argparse.ArgumentParser(
        prog="python -m tl_utils.show_pickle", description="Shows what is in a pickle."
    )
    parser.add_argument("--recursive", action="store_true", help="look in all archives of a folder")
    parser.add_argument("file", help="FILE, or FILE.zip@PATTERN")
    options = parser.parse_args(argv[1:])
    files = [options.file]
    if options.recursive:
        folder, _, pattern = options.file.partition("@")
        archives = sorted(p for p in Path(folder).rglob("*") if p.is_file() and zipfile.is_zipfile(p))
        files = [f"{path}@{pattern or '*.pkl'}" for path in archives]
    try:
        matches = [_show(text, out) for text in files]
    except (OSError, pickle.UnpicklingError, zipfile.BadZipFile, ValueError) as error:
        print(f"show_pickle: can't read {options.file}: {error}", file=sys.stderr)
        return 2
    if not any(matches):
        print(f"show_pickle: nothing matches {options.file}", file=sys.stderr)
        return 2
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv))
