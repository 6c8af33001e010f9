"""The version of the API, as a text that compares like a version."""

from itertools import zip_longest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Release(str):
    """A version such as `2.7.0+tl`: ordered by its numbers against another text, or a tuple.

    Example:
        >>> Release("2.7.0+tl") < "2.10", Release("2.7.0+tl") >= (2, 7)
        (True, True)
    """

    __slots__ = ()

    def __lt__(self, other: "Any") -> bool:
        order = _order(self, other)
        return NotImplemented if order is None else order < 0

    def __le__(self, other: "Any") -> bool:
        order = _order(self, other)
        return NotImplemented if order is None else order <= 0

    def __gt__(self, other: "Any") -> bool:
        order = _order(self, other)
        return NotImplemented if order is None else order > 0

    def __ge__(self, other: "Any") -> bool:
        order = _order(self, other)
        return NotImplemented if order is None else order >= 0


def _order(release: str, other: object) -> int | None:
    """-1, 0 or 1 where the release is before, equal to or after another; None if that is no version."""
    if not isinstance(other, (str, tuple, list)):
        return None
    for number, other_number in zip_longest(_numbers(release), _numbers(other), fillvalue=0):
        if number != other_number:
            return -1 if number < other_number else 1
    return 0


def _numbers(version: str | tuple | list) -> list[int]:
    """The numbers of a version, up to the first part that is no number."""
    if not isinstance(version, str):
        return list(version)
    numbers = []
    for part in version.partition("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:
            break
    return numbers
