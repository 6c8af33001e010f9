"""Archives of repositories, unpacked into one folder and nowhere else."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

__all__ = ["single_file", "unpack"]


def _check_member(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    drive = ":" in path.parts[0] if path.parts else False
    if not path.parts or path.is_absolute() or ".." in path.parts or drive:
        raise ValueError(
            f"hub: the archive has a file {member.filename!r}, outside its folder; nothing was unpacked"
        )
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ValueError(
            f"hub: the archive has {member.filename!r}, a link or special file; nothing was unpacked"
        )
    return member


def unpack(archive: Path, target: Path) -> None:
    """Unpacks the one folder of an archive. The folder replaces the target once it is complete.

    Args:
        archive: a ZIP file.
        target: the folder's new path.

    Raises:
        ValueError: the archive has links, special files, paths that lead outside, or several folders.
        OSError: it can't be written, or the disk is too small.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [_check_member(m) for m in opened.infolist()]
            roots = {PurePosixPath(m.filename).parts[0] for m in members}
            if len(roots) != 1:
                raise ValueError(f"hub: an archive must have one folder, {archive.name} has {len(roots)}")
            needed, free = sum(m.file_size for m in members), shutil.disk_usage(target.parent).free
            if needed > free:
                text = f"hub: the archive needs {needed} bytes, the disk has {free}"
                raise OSError(errno.ENOSPC, text, str(target))
            with tempfile.TemporaryDirectory(prefix=".unpack_", dir=target.parent) as folder:
                for member in members:
                    opened.extract(member, folder)
                shutil.rmtree(target, ignore_errors=True)
                os.replace(Path(folder, roots.pop()), target)
    except zipfile.BadZipFile as error:
        raise ValueError(f"hub: the download is no ZIP archive, or damaged: {error}") from error


def single_file(path: Path) -> zipfile.ZipInfo | None:
    """The only file of an archive, or None for several files or no archive."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    return _check_member(members[0]) if len(members) == 1 and not members[0].is_dir() else None
