"""Backend switches and queries, device modules and the names of TorchScript, for tl.

Nothing is loaded before it is asked for: `tl_backends.cuda`, `tl_backends.backends.mkl` and the others are imported by
name, or reached as `tl.cuda`, `tl.backends.mkl` through the package tl-all. The switches themselves are kept by
tl-core, where the kernels that heed them are.
"""

from tl_backends.version import __version__ as __version__
