"""The CPU that the kernels run on."""

import tl_core

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that the kernels in use were compiled for: "DEFAULT", "AVX2" or "AVX512".

    It is chosen when tl-core starts, by what the CPU has; the environment variable `TL_CPU_CAPABILITY` lowers it.

    Example:
        >>> get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
        True
    """
    return tl_core.cpu_capability()
