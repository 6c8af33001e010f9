"""What each library under the operators is set to, and whether it is there at all.

tl brings kernels of its own, so most answers are no. Switches that decide something here say what: how attention may be
computed (`cuda.enable_flash_sdp`, `cuda.enable_math_sdp`), the order of `einsum` (`opt_einsum`), the precision of
float32 products (`fp32_precision`, `cuda.matmul.allow_tf32`), padding in `TransformerEncoder` (`mha`). All others are
kept, so that a program reads back what it has set, and say that there is nothing to switch.
"""

from tl_backends.backends import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)
from tl_backends.precision import FloatPrecision
from tl_backends.switch import attach

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "fp32_precision",
    "kleidiai",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
]

fp32_precision: str
"""With how many bits of their factors float32 products are computed: "ieee" or "none" all, "tf32" those of two
bfloat16, "bf16" those of one. It is another name of `torch.set_float32_matmul_precision`."""

attach(__name__, fp32_precision=FloatPrecision("backends.fp32_precision"))
