# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.graph.equalize import _InputEqualizationObserver as _InputEqualizationObserver
from tl_quantization.graph.equalize import _WeightEqualizationObserver as _WeightEqualizationObserver
