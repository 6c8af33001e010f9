# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.learnable_fake_quantize import _LearnableFakeQuantize as _LearnableFakeQuantize
