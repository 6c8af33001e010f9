"""Files by name."""

from __future__ import annotations

import fnmatch
import importlib.util
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

__all__ = ["StreamWrapper", "get_file_pathnames_from_root", "match_masks", "validate_input_col"]

DILL_AVAILABLE = importlib.util.find_spec("dill") is not None


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name matches one of the shell-like masks; an empty mask matches everything."""
    listed = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in listed)


def get_file_pathnames_from_root(
    root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False
) -> Iterator[str]:
    """The files in a folder, or the file itself, in the order of their names.

    Raises FileNotFoundError if there is neither.

    Args:
        root: a folder or a file.
        masks: patterns of names, such as "*.csv"; "" for all.
        recursive: whether folders within are searched.
        abspath: whether paths are absolute.
    """
    root = os.path.abspath(root) if abspath else root
    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield root
        return
    with os.scandir(root) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
        if entry.is_dir():
            if recursive:
                yield from get_file_pathnames_from_root(entry.path, masks, recursive)
        elif match_masks(entry.name, masks):
            yield entry.path


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Checks that a function takes as many arguments as there are parts of a sample.

    Args:
        fn: the function. One without a signature passes.
        input_col: the position or key of one part, or a list or tuple of several; None for the sample.

    Raises:
        ValueError: the function takes more arguments, fewer, or further ones by name only.

    Example:
        >>> validate_input_col(divmod, [0, 1])
    """
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # a built-in function may have no signature
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    inner = getattr(fn, "func", fn)
    name = getattr(inner, "__name__", repr(inner))
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if named:
        raise ValueError(
            f"The function {name} takes {len(named)} keyword-only parameters, which is not allowed."
        )
    if len(positional) < count and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ValueError(f"The function {name} takes {len(positional)} parameters, but {count} are required.")
    if len(required) > count:
        raise ValueError(
            f"The function {name} takes {len(required)} positional parameters, but {count} are required."
        )


class StreamWrapper:
    """A file that is closed when the last reference to it goes.

    Args:
        file_obj: the file.
        parent_stream: the wrapper of the archive that the file is a member of. It closes after its members.
        name: the name in the text of the wrapper.

    Example:
        >>> import io
        >>> stream = StreamWrapper(io.BytesIO(b"ab"), name="letters")
        >>> stream.read()
        b'ab'
    """

    session_streams: ClassVar[dict[Any, int]] = {}
    debug_unclosed_streams: ClassVar[bool] = False

    def __init__(
        self, file_obj: Any, parent_stream: StreamWrapper | None = None, name: str | None = None
    ) -> None:
        if parent_stream is not None and not isinstance(parent_stream, StreamWrapper):
            raise RuntimeError(
                f"Parent stream should be StreamWrapper, {type(parent_stream).__name__} was given"
            )
        self.file_obj, self.parent_stream, self.name = file_obj, parent_stream, name
        self.child_counter = 0
        self.close_on_last_child = self.closed = False
        if parent_stream is not None:
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Closes the wrappers in nested lists, tuples and dictionaries.

        Args:
            v: a wrapper, a container, or any other object, which stays.
            depth: the depth of `v`; containers below the tenth level stay.
        """
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict):
            for item in v.values():
                cls.close_streams(item, depth + 1)
        elif isinstance(v, (list, tuple)):
            for item in v:
                cls.close_streams(item, depth + 1)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Closes the file, and the archive behind it if this was its last member.

        Args:
            args: arguments of the file's `close`.
            kwargs: those by name.
        """
        if self.closed:
            return
        StreamWrapper.session_streams.pop(self, None)
        self.closed = True
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if parent.child_counter == 0 and parent.close_on_last_child:
                parent.close()
        self.file_obj.close(*args, **kwargs)

    def autoclose(self) -> None:
        """Closes the file once no member of it is open: at once, or with the last one."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __getattr__(self, name: str) -> Any:
        if name == "file_obj":  # of a copy that pickle has not filled yet
            raise AttributeError(name)
        return getattr(self.file_obj, name)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(type(self)), *dir(self.file_obj)})

    def __del__(self) -> None:
        if "file_obj" in vars(self) and not self.closed:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        text = repr(self.file_obj)
        return f"StreamWrapper<{text}>" if self.name is None else f"StreamWrapper<{self.name},{text}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, file_obj: Any) -> None:
        self.__init__(file_obj)  # type: ignore[misc]  # its state is its argument
