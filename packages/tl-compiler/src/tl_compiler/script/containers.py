"""Lists and dictionaries that programs share with Python: what a program changes in them, Python sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

__all__ = ["ScriptDict", "ScriptList"]


class ScriptList(list[Any]):
    """A list whose elements have one type, as `script` returns it.

    Args:
        values: the elements.
        check: raises TypeError for a value of another type.

    Example:
        >>> shared = ScriptList([1, 2], lambda value: None)
        >>> shared.append(3)
        >>> shared
        [1, 2, 3]
    """

    def __init__(self, values: Iterable[Any], check: Callable[[Any], None]) -> None:
        super().__init__(values)
        self._check = check

    def append(self, value: Any) -> None:
        """Appends an element; TypeError for one of another type."""
        self._check(value)
        super().append(value)

    def insert(self, index: Any, value: Any) -> None:
        """Inserts an element before an index; TypeError for one of another type."""
        self._check(value)
        super().insert(index, value)

    def extend(self, values: Iterable[Any]) -> None:
        """Appends elements; TypeError for one of another type, and then none is appended."""
        super().extend(self._check_values(values))

    def __iadd__(self, values: Iterable[Any]) -> Self:  # type: ignore[misc]  # the values are checked
        self.extend(values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            super().__setitem__(index, self._check_values(value))
        else:
            self._check(value)
            super().__setitem__(index, value)

    def _check_values(self, values: Iterable[Any]) -> list[Any]:
        result = list(values)
        for value in result:
            self._check(value)
        return result


class ScriptDict(dict[Any, Any]):
    """A dictionary whose keys and values have one type each, as `script` returns it.

    Args:
        values: the entries.
        check: raises TypeError for a key or a value of another type.

    Example:
        >>> shared = ScriptDict({"a": 1}, lambda key, value: None)
        >>> shared["b"] = 2
        >>> sorted(shared)
        ['a', 'b']
    """

    def __init__(self, values: dict[Any, Any], check: Callable[[Any, Any], None]) -> None:
        super().__init__(values)
        self._check = check

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key, value)
        super().__setitem__(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds entries; TypeError for a key or a value of another type."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __ior__(self, values: Any) -> Self:  # type: ignore[misc]  # the values are checked
        self.update(values)
        return self

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which gets a default if it has none."""
        if key not in self:
            self[key] = default
        return self[key]
