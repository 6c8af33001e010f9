"""The version of tl-all, which the build reads from here, and the other names of `torch.version`."""

__version__ = "0.1.0"

tl = __version__
"""tl's own version, also while `tl.torch` gives `__version__` the version of the API."""

git_version = "tl-" + __version__
"""The release: wheels have no commit. Libraries take a version without this name for an internal build."""

debug = False
git_version = "Unknown"  # as PyTorch names a build outside of a repository
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
