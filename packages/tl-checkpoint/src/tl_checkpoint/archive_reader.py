"""Reader of archives of `save`, tl's and PyTorch's: ZIP files with one folder, a pickle and storages."""

from __future__ import annotations

from .source import Source
from .zip_reader import Record, ZipReader

__all__ = ["ArchiveReader", "Record", "is_archive"]


def is_archive(source: Source) -> bool:
    """Whether the file begins as an archive does."""
    return source.size >= 4 and source.read_at(0, 4) == b"PK\x03\x04"


class ArchiveReader(ZipReader):
    """The records of an archive.

    Args:
        source (Source): The bytes of the file.

    Raises:
        RuntimeError: If the file is no archive, is truncated, inconsistent, or differs from its manifest.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.folder = self._folder()
        self.check_manifest()

    def _folder(self) -> str:
        pickles = [name for name in self.records if name.endswith("/data.pkl") and name.count("/") == 1]
        if not pickles and any(name.endswith("/archive_format") for name in self.records):
            raise RuntimeError(
                "the archive is an exported program, without a pickled object: torch.export.load reads it"
            )
        if len(pickles) != 1:
            raise RuntimeError("the archive holds no data.pkl in its folder: it isn't one that save() makes")
        return pickles[0].removesuffix("data.pkl")

    def refuse_program(self) -> None:
        """Raises RuntimeError if the archive is one of TorchScript."""
        if "constants.pkl" in self:
            raise RuntimeError(
                "the file is a TorchScript archive, which holds a program: torch.jit.load reads it"
            )
