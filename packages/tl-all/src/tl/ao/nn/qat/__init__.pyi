# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.modules.conv import Conv1d as Conv1d
from tl_quantization.nn.qat.modules.conv import Conv2d as Conv2d
from tl_quantization.nn.qat.modules.conv import Conv3d as Conv3d
from tl_quantization.nn.qat.modules.embedding_ops import Embedding as Embedding
from tl_quantization.nn.qat.modules.embedding_ops import EmbeddingBag as EmbeddingBag
from tl_quantization.nn.qat.modules.linear import Linear as Linear

from . import dynamic as dynamic
from . import modules as modules
