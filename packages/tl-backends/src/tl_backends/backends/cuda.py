"""Settings of CUDA libraries. They need no device. A setting without a documented effect is only stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple
from warnings import warn

from tl_backends.device_kind import CUDA
from tl_backends.precision import FloatPrecision
from tl_backends.switch import Switch, check_type
from tl_core import get_float32_matmul_precision, set_float32_matmul_precision
from tl_core.settings import operators as operator_switches
from tl_core.settings import switches

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]


class _Matmul:
    """Precision settings of matrix products on a CUDA device."""

    __slots__ = ()

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may take fewer bits, on any device: another name of the precision."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        check_type("backends.cuda.matmul.allow_tf32", bool, allowed)
        set_float32_matmul_precision("high" if allowed else "highest")

    allow_fp16_reduced_precision_reduction = Switch(
        "backends.cuda.matmul.allow_fp16_reduced_precision_reduction", True
    )
    """Without effect: sums of float16 products are float32."""
    allow_bf16_reduced_precision_reduction = Switch(
        "backends.cuda.matmul.allow_bf16_reduced_precision_reduction", True
    )
    """Without effect: sums of bfloat16 products are float32."""
    allow_fp16_accumulation = Switch("backends.cuda.matmul.allow_fp16_accumulation", False)
    """Without effect: sums of float16 products are float32."""
    fp32_precision = FloatPrecision("backends.cuda.matmul.fp32_precision")
    """The precision of float32 products on any device, as `torch.backends.fp32_precision`."""


class _FourierPlanCache:
    """The plan caches of cuFFT, one a device."""

    __slots__ = ()

    def __getitem__(self, device: int) -> Any:
        raise RuntimeError(
            f"cufft_plan_cache: expected 0 <= device index < 0, but got device with index {device}"
        )

    @property
    def size(self) -> int:
        """The number of plans in the current device's cache."""
        raise CUDA.error_of("backends.cuda.cufft_plan_cache.size")

    @property
    def max_size(self) -> int:
        """The number of plans that the current device's cache can hold."""
        raise CUDA.error_of("backends.cuda.cufft_plan_cache.max_size")

    @max_size.setter
    def max_size(self, plans: int) -> None:
        raise CUDA.error_of("backends.cuda.cufft_plan_cache.max_size")

    def clear(self) -> None:
        """Empties the current device's cache."""
        raise CUDA.error_of("backends.cuda.cufft_plan_cache.clear")


matmul = _Matmul()
cufft_plan_cache = _FourierPlanCache()


def is_built() -> bool:
    """Whether this installation could use a CUDA device if the machine had one: False.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.is_built()
        False
    """
    return False


class _Library(Enum):
    """A library of a choice. It is also equal to its name."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and self.name.lower() == other.lower())

    def __hash__(self) -> int:
        return hash(self.name.lower())


class BlasBackend(_Library):
    """Libraries of `preferred_blas_library`."""

    Default, Cublas, Cublaslt, Ck = range(4)


class LinalgBackend(_Library):
    """Libraries of `preferred_linalg_library`."""

    Default, Cusolver, Magma = range(3)


class ROCmFABackend(_Library):
    """Libraries of `preferred_rocm_fa_library`."""

    Default, AOTriton, Ck = range(3)


for _kind in (BlasBackend, LinalgBackend, ROCmFABackend):
    switches.declare(f"backends.cuda.preferred_{_kind.__name__}", "default", str)


def preferred_blas_library(backend: str | BlasBackend | None = None) -> BlasBackend:
    """Sets and returns the preferred library of matrix products on CUDA devices. Without effect: tl has none.

    Args:
        backend: "default", "cublas", "cublaslt" or "ck"; None changes nothing.

    Raises:
        RuntimeError: the library is unknown.

    Example:
        >>> preferred_blas_library("cublas")
        <BlasBackend.Cublas: 1>
        >>> preferred_blas_library("default").name
        'Default'
    """
    return _prefer(BlasBackend, backend)


def preferred_linalg_library(backend: str | LinalgBackend | None = None) -> LinalgBackend:
    """Sets and returns the preferred library of linear algebra on CUDA devices. Without effect: tl has none.

    Args:
        backend: "default"; "cusolver" and "magma" raise RuntimeError. None changes nothing.

    Raises:
        RuntimeError: the library is unknown, or tl lacks it.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.preferred_linalg_library()
        <LinalgBackend.Default: 0>
    """
    library = None if backend is None else _member(LinalgBackend, backend)
    if library in (LinalgBackend.Cusolver, LinalgBackend.Magma):
        raise RuntimeError(f"Cannot set preferred backend to {backend}: tl has not been compiled with it")
    return _prefer(LinalgBackend, library)


def preferred_rocm_fa_library(backend: str | ROCmFABackend | None = None) -> ROCmFABackend:
    """Sets and returns the preferred library of flash attention on ROCm devices. Without effect: tl has none.

    Args:
        backend: "default", "aotriton" or "ck"; None changes nothing.

    Raises:
        RuntimeError: the library is unknown.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.preferred_rocm_fa_library()
        <ROCmFABackend.Default: 0>
    """
    return _prefer(ROCmFABackend, backend)


def _prefer(kind: type, backend: Any) -> Any:
    switch = f"backends.cuda.preferred_{kind.__name__}"
    if backend is not None:
        switches.set(switch, _member(kind, backend).name.lower())
    return _member(kind, switches.get(switch))


def _member(kind: Any, backend: Any) -> Any:
    if isinstance(backend, kind):
        return backend
    if not isinstance(backend, str):
        raise RuntimeError(
            f"Unknown input value type: backend must be a str or a {kind.__name__}, got {backend!r}"
        )
    for member in kind:
        if member == backend:
            return member
    names = ", ".join(member.name.lower() for member in kind)
    raise RuntimeError(f"Unknown input value. backend is {backend!r}; choose from: {names}.")


class SDPAParams(NamedTuple):
    """The arguments of scaled dot product attention, for a check of its implementations.

    Args:
        query: the queries.
        key: the keys.
        value: the values.
        attn_mask: the mask, or None.
        dropout: the probability of dropout.
        is_causal: whether later positions are left out.
        enable_gqa: whether heads of keys are shared by several of queries.

    Example:
        >>> import tl_core
        >>> from tl_backends.backends import cuda
        >>> query = tl_core.zeros(1, 2, 3, 4)
        >>> cuda.SDPAParams(query, query, query, None, 0.0, True).is_causal
        True
    """

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool = False


class _Attention:
    """Implementations that scaled dot product attention may use."""

    flash = Switch(operator_switches.ATTENTION[0], True)
    math = Switch(operator_switches.ATTENTION[1], True)
    mem_efficient = Switch("backends.cuda.mem_efficient_sdp", True)
    cudnn = Switch("backends.cuda.cudnn_sdp", True)
    reduced_math = Switch("backends.cuda.fp16_bf16_reduction_math_sdp", False)


_attention = _Attention()


def flash_sdp_enabled() -> bool:
    """Whether attention may use its flash implementation.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.flash_sdp_enabled()
        True
    """
    return _attention.flash


def enable_flash_sdp(enabled: bool) -> None:
    """Allows attention to use its flash implementation, or forbids it.

    On a CPU there is one way of computing attention, which counts as flash and as step by step: where both are
    forbidden, `scaled_dot_product_attention` raises RuntimeError.

    Args:
        enabled: whether it is allowed.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.enable_flash_sdp(True)
        >>> cuda.flash_sdp_enabled()
        True
    """
    _attention.flash = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use its memory-efficient implementation.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.mem_efficient_sdp_enabled()
        True
    """
    return _attention.mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allows attention to use its memory-efficient implementation, or forbids it. Nothing to switch on a CPU, which has
    none.

    Args:
        enabled: whether it is allowed.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.enable_mem_efficient_sdp(True)
    """
    _attention.mem_efficient = enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed step by step.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.math_sdp_enabled()
        True
    """
    return _attention.math


def enable_math_sdp(enabled: bool) -> None:
    """Allows attention to be computed step by step, or forbids it.

    On a CPU there is one way of computing attention, which counts as flash and as step by step: where both are
    forbidden, `scaled_dot_product_attention` raises RuntimeError.

    Args:
        enabled: whether it is allowed.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.enable_math_sdp(True)
        >>> cuda.math_sdp_enabled()
        True
    """
    _attention.math = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.cudnn_sdp_enabled()
        True
    """
    return _attention.cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allows attention to use cuDNN, or forbids it. Nothing to switch on a CPU, which has none.

    Args:
        enabled: whether it is allowed.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.enable_cudnn_sdp(True)
    """
    _attention.cudnn = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether attention computed step by step may add up in half precision.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.fp16_bf16_reduction_math_sdp_allowed()
        False
    """
    return _attention.reduced_math


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allows attention computed step by step to add up in half precision, or forbids it. Nothing to switch: sums are
    float32 in any case.

    Args:
        enabled: whether it is allowed.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.allow_fp16_bf16_reduction_math_sdp(False)
    """
    _attention.reduced_math = enabled


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Allows exactly these implementations of attention for the time of a `with` block. On a CPU, attention raises
    RuntimeError where both flash and math are forbidden. Deprecated in favor of `torch.nn.attention.sdpa_kernel`.

    Args:
        enable_flash: whether FlashAttention may be used.
        enable_math: whether the composite may be used.
        enable_mem_efficient: whether memory-efficient attention may be used.
        enable_cudnn: whether cuDNN may be used.

    Example:
        >>> with sdp_kernel(enable_flash=False):
        ...     flash_sdp_enabled()
        False
        >>> flash_sdp_enabled()
        True
    """
    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. Please see `torch.nn.attention.sdpa_kernel()`, which takes "
        "the list of implementations to allow.",
        FutureWarning,
        stacklevel=3,
    )
    settings = {
        "flash": enable_flash,
        "math": enable_math,
        "mem_efficient": enable_mem_efficient,
        "cudnn": enable_cudnn,
    }
    before = {name: getattr(_attention, name) for name in settings}
    try:
        _set_attention(settings)
        yield
    finally:
        _set_attention(before)


def _set_attention(values: dict[str, bool]) -> None:
    for name, value in values.items():
        setattr(_attention, name, value)


def is_flash_attention_available() -> bool:
    """Whether the flash implementation for CUDA devices is there: False.

    Example:
        >>> from tl_backends.backends import cuda
        >>> cuda.is_flash_attention_available()
        False
    """
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether the flash implementation for CUDA devices could take a call: False; `debug` warns why.

    Example:
        >>> import tl_core
        >>> from tl_backends.backends import cuda
        >>> query = tl_core.zeros(1, 2, 3, 4)
        >>> cuda.can_use_flash_attention(cuda.SDPAParams(query, query, query, None, 0.0, True))
        False
    """
    return _cannot("flash attention", debug)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether the memory-efficient implementation for CUDA devices could take a call: False; `debug` warns why.

    Example:
        >>> import tl_core
        >>> from tl_backends.backends import cuda
        >>> query = tl_core.zeros(1, 2, 3, 4)
        >>> cuda.can_use_efficient_attention(cuda.SDPAParams(query, query, query, None, 0.0, True))
        False
    """
    return _cannot("efficient attention", debug)


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether cuDNN's attention could take a call: False; `debug` warns why.

    Example:
        >>> import tl_core
        >>> from tl_backends.backends import cuda
        >>> query = tl_core.zeros(1, 2, 3, 4)
        >>> cuda.can_use_cudnn_attention(cuda.SDPAParams(query, query, query, None, 0.0, True))
        False
    """
    return _cannot("cuDNN attention", debug)


def _cannot(name: str, debug: bool) -> bool:
    if debug:
        warn(f"{name} was not compiled into tl: it needs a CUDA plug-in", UserWarning, stacklevel=3)
    return False
