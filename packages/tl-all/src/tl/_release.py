"""The version of the API, as a text that compares like a version."""


class Release(str):
    """A version such as `2.7.0+tl`: ordered by its numbers against another text, or a tuple.

    Example:
        >>> Release("2.7.0+tl") < "2.10", Release("2.7.0+tl") >= (2, 7)
        (True, True)
    """

    __slots__ = ()

    def __lt__(self, other):
        return _compared(self, other, lambda mine, others: mine < others)

    def __le__(self, other):
        return _compared(self, other, lambda mine, others: mine <= others)

    def __gt__(self, other):
        return _compared(self, other, lambda mine, others: mine > others)

    def __ge__(self, other):
        return _compared(self, other, lambda mine, others: mine >= others)


def _compared(release, other, order):
    mine, others = _numbers(release), _numbers(other)
    if others is None:
        return NotImplemented
    length = max(len(mine), len(others))
    return order(mine + (0,) * (length - len(mine)), others + (0,) * (length - len(others)))


def _numbers(version) -> tuple[int, ...] | None:
    """The numbers of a version, up to the first part that isn't one; None if it isn't a version at all."""
    if isinstance(version, (tuple, list)):
        return tuple(version)
    if not isinstance(version, str):
        return None
    numbers = []
    for part in version.partition("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)
