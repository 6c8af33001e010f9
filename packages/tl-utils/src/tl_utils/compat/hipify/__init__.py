"""The interface of PyTorch's translator of CUDA sources for ROCm."""

from tl_utils.compat.hipify.version import __version__ as __version__
