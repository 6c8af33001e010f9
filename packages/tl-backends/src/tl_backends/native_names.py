"""Functions of the module of native names that say how switches of libraries stand."""

from tl_backends.backends import cudnn

__all__: list[str] = []


def _get_cudnn_enabled() -> bool:
    return bool(cudnn.enabled)  # type: ignore[attr-defined]


def _get_cudnn_benchmark() -> bool:
    return bool(cudnn.benchmark)  # type: ignore[attr-defined]


def _get_cudnn_deterministic() -> bool:
    return bool(cudnn.deterministic)  # type: ignore[attr-defined]


def _get_cudnn_allow_tf32() -> bool:
    return bool(cudnn.allow_tf32)  # type: ignore[attr-defined]
