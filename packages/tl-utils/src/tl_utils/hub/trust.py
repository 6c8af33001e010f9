"""Whether the code of a repository may run."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from tl_utils.hub import directories
from tl_utils.hub.github import Repository

__all__ = ["UntrustedRepository", "check"]

OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")


class UntrustedRepository(RuntimeError):
    """The user doesn't trust a repository."""


def check(repository: Repository, trust_repo: bool | str | None) -> None:
    """Prompts the user, unless the repository is on the list of trusted ones.

    Trusted are the repositories on the list `trusted_list` in the folder of downloads, those that are there already,
    and those of PyTorch's own organizations.

    Raises:
        UntrustedRepository: it isn't trusted.
        ValueError: the answer, or `trust_repo`, makes no sense.
    """
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f"hub: trust_repo must be 'check', True, False or None, got {trust_repo!r}")
    folder = directories.writable(directories.get_dir())
    listed = folder / "trusted_list"
    listed.touch()
    name = f"{repository.owner}_{repository.name}"
    lines = [line.strip() for line in listed.read_text().splitlines()]
    trusted = name in lines or (folder / repository.folder).is_dir() or repository.owner in OWNERS
    if trust_repo is None:
        if not trusted:
            _warn()
        return
    if trust_repo is False or (trust_repo == "check" and not trusted):
        _ask(repository)
    if not trusted:
        _add(listed, name)


def _warn() -> None:
    warnings.warn(
        "You are about to download and run code from an untrusted repository. Pass trust_repo=False to be asked, "
        "trust_repo='check' to be asked once, or trust_repo=True if you trust it.",
        UserWarning,
        stacklevel=5,
    )


def _ask(repository: Repository) -> None:
    question = (
        f"The code of {repository.owner}/{repository.name} is about to be downloaded and run, and it isn't on the list "
        "of trusted repositories. Do you trust it and wish to add it to the list (y/N)?"
    )
    try:
        answer = input(question).strip().lower()
    except EOFError:
        raise UntrustedRepository(
            f"Untrusted repository. {repository.owner}/{repository.name}: there is nobody to ask; pass trust_repo=True "
            "if you trust it"
        ) from None
    if answer in ("n", "no", ""):
        raise UntrustedRepository(f"Untrusted repository. {repository.owner}/{repository.name} is not used")
    if answer not in ("y", "yes"):
        raise ValueError(f"hub: expected y or n, got {answer!r}")


def _add(listed: Path, name: str) -> None:
    with listed.open("a") as file:
        file.write(f"{name}\n")
        file.flush()
        os.fsync(file.fileno())
