"""Context managers that turn a library's reports on: a library that isn't there can't be turned on."""

from typing import Self


class Verbosity:
    """The common part of `mkl.verbose` and `mkldnn.verbose`."""

    library: str

    def __init__(self, level: int):
        self.level = level

    def __enter__(self) -> Self:
        if self.level:
            raise AssertionError(
                f"Failed to set {self.library} into verbose mode {self.level}: {self.library} isn't there"
            )
        return self

    def __exit__(self, *error: object) -> None:
        pass
