"""Makes `torch` another name of tl in the process that loads this module."""

from tl.torch import install

install()
