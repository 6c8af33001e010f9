"""What would translate CUDA sources for ROCm."""

from tl_utils.hipify.version import __version__ as __version__
