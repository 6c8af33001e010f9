"""Models of other people: entry points of local folders and of GitHub repositories, and their weights.

A repository has a file `hubconf.py`. Its functions are the entry points, its list `dependencies` names the packages
that they need:

    dependencies = ["torch"]

    def small(pretrained=False):
        "A small model."
        ...

`load` runs that code, so a repository must be trusted first.
"""

from __future__ import annotations

import builtins
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import tl_checkpoint
from tl_utils.hub import archives, entrypoints, github, trust
from tl_utils.hub.directories import _get_torch_home, get_dir, set_dir, writable
from tl_utils.hub.downloads import download_url_to_file
from tl_utils.hub.entrypoints import _is_importable as _check_module_exists  # the name in tests of PyTorch
from tl_utils.hub.github import parse as _parse_repo_info
from tl_utils.hub.progress import __getattr__ as __getattr__  # tqdm, for those who take it from here

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_Trust = bool | str | None


def _get_cache_or_reload(github: str, force_reload: bool, trust_repo: _Trust, calling_fn: str | None = None,
                         verbose: bool = True, skip_validation: bool = False) -> str:  # fmt: skip
    """The folder of a repository, downloaded if it isn't there.

    Args:
        github: `owner/name[:ref]`.
        force_reload: whether it is downloaded anyhow.
        trust_repo: see `load`.
        calling_fn: not used.
        verbose: whether to print that the download exists.
        skip_validation: whether to accept any reference.
    """
    repository = _parse_repo_info(github)
    folder = writable(get_dir())
    target = folder / repository.folder
    trust.check(repository, trust_repo)
    if target.exists() and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {target}\n")
        return str(target)
    _download(repository, target, skip_validation)
    return str(target)


def _download(repository: github.Repository, target: Path, skip_validation: bool) -> None:
    if not skip_validation:
        github.validate(repository)
    url = github.archive_url(repository)
    sys.stderr.write(f'Downloading: "{url}" to {target}\n')
    with tempfile.TemporaryDirectory(prefix=".archive_", dir=target.parent) as folder:
        archive = Path(folder, "archive.zip")
        download_url_to_file(url, str(archive), progress=False)
        archives.unpack(archive, target)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: _Trust = "check",
         verbose: bool = True) -> builtins.list[str]:  # fmt: skip
    """The entry points of a repository.

    Args:
        github: `owner/name[:ref]`, with a branch or tag `ref`, by default `main`, or else `master`.
        force_reload: whether it is downloaded again.
        skip_validation: whether the reference need not be the repository's own. Asking costs requests to GitHub's API,
            with the token of the environment variable GITHUB_TOKEN.
        trust_repo: `"check"`, True, False or None, see `load`.
        verbose: whether to print that the download exists.

    Returns:
        list of str

    Example:
        >>> import tl_utils
        >>> tl_utils.hub.list("models", source="local")  # doctest: +SKIP
    """
    folder = Path(_get_cache_or_reload(github, force_reload, trust_repo, "list", verbose, skip_validation))
    with entrypoints.first_on_path(folder):
        return entrypoints.names(entrypoints.hubconf(folder))


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: _Trust = "check") -> str | None:  # fmt: skip
    """The docstring of an entry point.

    Args:
        github: `owner/name[:ref]`.
        model: the entry point.
        force_reload: whether the repository is downloaded again.
        skip_validation: whether the reference need not be the repository's own.
        trust_repo: `"check"`, True, False or None, see `load`.

    Returns:
        str, or None.

    Example:
        >>> import tl_utils
        >>> print(tl_utils.hub.help("models", "small", source="local"))  # doctest: +SKIP
    """
    folder = Path(_get_cache_or_reload(github, force_reload, trust_repo, "help", True, skip_validation))
    with entrypoints.first_on_path(folder):
        return entrypoints.entry(entrypoints.hubconf(folder), model).__doc__


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: _Trust = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False,
         **kwargs: Any) -> Any:  # fmt: skip
    """Calls an entry point of a repository or local folder.

    Args:
        repo_or_dir: `owner/name[:ref]`, or the folder if `source` is `"local"`.
        model: the entry point.
        args: its arguments.
        source: `"github"` or `"local"`.
        trust_repo: whether the code may be downloaded and run. `"check"` asks unless the repository is on the list of
            trusted ones; False asks always; True trusts it; None only warns.
        force_reload: whether it is downloaded again.
        verbose: whether to print that the download exists.
        skip_validation: whether the reference need not be the repository's own.
        kwargs: the entry point's named arguments.

    Returns:
        the result of the entry point.

    Raises:
        ValueError: `source` is something else, or the repository has no such reference.
        UntrustedRepository: the repository isn't trusted.
        RuntimeError: there is no such entry point, or it needs packages that are missing.
        OSError: it can't be downloaded, or the folder can't be written to.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "hubconf.py").write_text("def double(x): return 2 * x")
        >>> load(str(folder), "double", 21, source="local")
        42
    """
    if source.lower() not in ("github", "local"):
        raise ValueError(f"hub.load: source must be 'github' or 'local', got {source!r}")
    if source.lower() == "github":
        repo_or_dir = _get_cache_or_reload(
            repo_or_dir, force_reload, trust_repo, "load", verbose, skip_validation
        )
    return _load_local(repo_or_dir, model, *args, **kwargs)


def _load_local(hubconf_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    folder = Path(hubconf_dir)
    with entrypoints.first_on_path(folder):
        return entrypoints.entry(entrypoints.hubconf(folder), model)(*args, **kwargs)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None,
                             weights_only: bool = True) -> dict[str, Any]:  # fmt: skip
    """Loads a file of tensors from a URL, or from the folder of downloads if it is there.

    A ZIP archive of one file, as older versions made them, is unpacked.

    Args:
        url: of the file.
        model_dir: the folder of downloads, by default `checkpoints` in `get_dir()`.
        map_location: where tensors go, as in `load`.
        progress: whether a progress bar is shown.
        check_hash: whether to check the SHA-256 against its prefix in the file's name, `name-HASH.ext`.
        file_name: its name among the downloads, by default the name in the URL.
        weights_only: whether nothing but tensors and plain values may be loaded. Only pass False for a file from
            somebody you trust: then it can run any code.

    Returns:
        dict, or whatever the file holds.

    Raises:
        OSError: it can't be downloaded or written.
        RuntimeError: its hash is another.
        ValueError: there is no name in the URL, or `file_name` leads out of the folder.

    Example:
        >>> import pathlib, tempfile, tl_core, tl_checkpoint
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> tl_checkpoint.save({"weight": tl_core.ones(2)}, folder / "model.pt")
        >>> load_state_dict_from_url((folder / "model.pt").as_uri(), str(folder / "kept"), progress=False)
        {'weight': tensor([1., 1.])}
    """
    folder = writable(model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints"))
    name = file_name if file_name is not None else os.path.basename(unquote(urlparse(url).path))
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(
            f"load_state_dict_from_url: a file in {folder} can't be named {name!r}; pass file_name"
        )
    path = folder / name
    if not path.exists():
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(path), match[1] if match else None, progress)
    only = archives.single_file(path)
    if only is None:
        return tl_checkpoint.load(path, map_location=map_location, weights_only=weights_only)
    return _load_zipped(
        path, only, lambda file: tl_checkpoint.load(file, map_location, weights_only=weights_only)
    )


def _load_zipped(path: Path, member: zipfile.ZipInfo, load_file: Callable[[Path], Any]) -> Any:
    warnings.warn(
        f"{path}: a ZIP archive around a file of tensors will be deprecated in favor of default zipfile format; save "
        "the file again, as it is",
        stacklevel=3,
    )
    with (
        tempfile.TemporaryDirectory(prefix=".zipped_", dir=path.parent) as folder,
        zipfile.ZipFile(path) as archive,
    ):
        target = Path(folder, "file")
        with archive.open(member) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        return load_file(target)
