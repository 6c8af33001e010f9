# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.graph.fuse_handler import DefaultFuseHandler as DefaultFuseHandler
from tl_quantization.graph.fuse_handler import FuseHandler as FuseHandler
