"""Repositories on GitHub: their addresses, and which of their references are their own."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError

from tl_utils.hub import directories
from tl_utils.hub.downloads import read_url

__all__ = ["Repository", "archive_url", "parse", "validate"]

SITE = "https://github.com"
API = "https://api.github.com"
_NAME = re.compile(r"[\w.-]+")


class Repository(NamedTuple):
    """A branch or tag of a repository.

    Args:
        owner: the owner.
        name: the name.
        ref: the branch, tag or commit.
    """

    owner: str
    name: str
    ref: str

    @property
    def folder(self) -> str:
        """The name of its folder among the downloads."""
        return "_".join([self.owner, self.name, self.ref.replace("/", "_")])


def parse(github: str) -> Repository:
    """Reads `owner/name[:ref]`.

    Without a reference it is `main` if the repository has that, else `master`. Without a connection, it is the one
    that was downloaded before.

    Raises:
        ValueError: it reads otherwise.
    """
    path, _, ref = github.partition(":")
    owner, _, name = path.partition("/")
    parts = [owner, name, *([ref.replace("/", "_")] if ref else [])]
    if not all(_NAME.fullmatch(p) and p.strip(".") for p in parts) or ".." in ref.split("/"):
        raise ValueError(f"hub: expected owner/name or owner/name:ref, got {github!r}")
    return Repository(owner, name, ref or _default(owner, name))


def _default(owner: str, name: str) -> str:
    try:
        read_url(f"{SITE}/{owner}/{name}/tree/main/")
        return "main"
    except HTTPError as error:
        if error.code == 404:
            return "master"
        raise
    except URLError as error:
        downloads = Path(directories.get_dir())
        for ref in ("main", "master"):
            if (downloads / Repository(owner, name, ref).folder).exists():
                return ref
        raise RuntimeError(
            f"hub: {owner}/{name}: there is no connection to find its default branch, and none was downloaded before; "
            f"name one: {owner}/{name}:main"
        ) from error


def archive_url(repository: Repository) -> str:
    """The URL of the repository's ZIP archive."""
    return f"{SITE}/{repository.owner}/{repository.name}/zipball/{repository.ref}"


def validate(repository: Repository) -> None:
    """Checks that a reference belongs to the repository.

    GitHub shows commits of forks under the address of the repository that was forked. Questions carry the token of the
    environment variable GITHUB_TOKEN, if that is set.

    Raises:
        ValueError: it has no such branch, tag, or tip of one.
    """
    token = os.environ.get("GITHUB_TOKEN")
    headers = {
        "Accept": "application/vnd.github.v3+json",
        **({"Authorization": f"token {token}"} if token else {}),
    }
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            url = f"{API}/repos/{repository.owner}/{repository.name}/{kind}?per_page=100&page={page}"
            answer = json.loads(read_url(url, headers))
            if not answer:
                break
            if any(
                repository.ref == x["name"] or x["commit"]["sha"].startswith(repository.ref) for x in answer
            ):
                return
    raise ValueError(
        f"hub: cannot find {repository.ref} in {SITE}/{repository.owner}/{repository.name}. If it's a commit from a "
        "forked repo, call hub.load() with the forked repo directly."
    )
