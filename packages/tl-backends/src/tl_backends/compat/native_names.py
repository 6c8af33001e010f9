"""Functions of the module of native names that say how switches of libraries stand."""

from tl_backends.backends import cudnn

__all__: list[str] = []


def _get_cudnn_enabled() -> bool:
    return bool(cudnn.enabled)


def _get_cudnn_benchmark() -> bool:
    return bool(cudnn.benchmark)


def _get_cudnn_deterministic() -> bool:
    return bool(cudnn.deterministic)


def _get_cudnn_allow_tf32() -> bool:
    return bool(cudnn.allow_tf32)
