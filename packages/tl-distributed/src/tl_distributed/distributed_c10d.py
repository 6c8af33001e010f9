"""The names of `tl_distributed`, for programs that import them from the module in which the reference defines them."""

from tl_distributed import *  # noqa: F403 - whatever the package has
