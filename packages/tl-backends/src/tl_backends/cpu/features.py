"""Features of the processor, from the system."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tl_backends.backends.cpu import get_cpu_capability

__all__ = ["get_capabilities"]

# The names that programs ask for, and those of the system where they differ.
_INSTRUCTIONS = (
    "aes amx_bf16 amx_fp16 amx_int8 amx_tile avx avx2 avx512_4fmaps avx512_4vnniw avx512_bf16 avx512_bitalg avx512_bw "
    "avx512_cd avx512_dq avx512_f avx512_fp16 avx512_ifma avx512_vbmi avx512_vbmi2 avx512_vl avx512_vnni "
    "avx512_vp2intersect avx512_vpopcntdq avx_vnni bmi bmi2 clflush clflushopt clwb f16c fma3 fma4 lzcnt popcnt sha "
    "sse sse2 sse3 sse4_1 sse4_2 sse4a ssse3"
)
_OF_SYSTEM = {
    "avx512_bw": "avx512bw",
    "avx512_cd": "avx512cd",
    "avx512_dq": "avx512dq",
    "avx512_f": "avx512f",
    "avx512_ifma": "avx512ifma",
    "avx512_vbmi": "avx512vbmi",
    "avx512_vl": "avx512vl",
    "bmi": "bmi1",
    "fma3": "fma",
    "lzcnt": "abm",
    "sha": "sha_ni",
    "sse3": "pni",
}


@functools.cache
def _system_facts() -> tuple[frozenset[str], str, int, int]:
    """The processor's flags, its name, and the numbers of sockets and cores; as far as the system tells."""
    flags: frozenset[str] = frozenset()
    name, cores = platform.processor(), set()
    socket = "0"
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = (part.strip() for part in line.partition(":"))
                if key in ("flags", "Features"):
                    flags = frozenset(value.split())
                elif key == "model name":
                    name = value
                elif key == "physical id":
                    socket = value
                elif key == "core id":
                    cores.add((socket, value))
    except OSError:
        pass
    return flags, name, len({socket for socket, _ in cores}) or 1, len(cores) or os.cpu_count() or 1


def _has(instruction: str) -> bool:
    return _OF_SYSTEM.get(instruction, instruction) in _system_facts()[0]


def get_capabilities() -> Mapping[str, Any]:
    """Which instructions the processor has, its name, and how many cores.

    Returns:
        A bool for each set of instructions, such as "avx2"; "architecture", "cpu_name", "num_sockets",
        "num_physical_cores", "num_logical_cores".

    Example:
        >>> from tl_backends import cpu
        >>> cpu.get_capabilities()["num_logical_cores"] >= 1
        True
    """
    _, name, sockets, cores = _system_facts()
    facts: dict[str, Any] = {instruction: _has(instruction) for instruction in _INSTRUCTIONS.split()}
    facts |= {
        "architecture": platform.machine(),
        "cpu_name": name,
        "num_sockets": sockets,
        "num_physical_cores": cores,
        "num_logical_cores": os.cpu_count() or 1,
    }
    return MappingProxyType(facts)


def _is_avx2_supported() -> bool:
    """Whether kernels run with AVX2."""
    return get_cpu_capability() in ("AVX2", "AVX512")


def _is_avx512_supported() -> bool:
    """Whether the processor has AVX-512: the foundation, bytes and words, doublewords, vector lengths."""
    return all(map(_has, ("avx512_f", "avx512_bw", "avx512_dq", "avx512_vl")))


def _is_avx512_bf16_supported() -> bool:
    """Whether the processor multiplies bfloat16."""
    return _has("avx512_bf16")


def _is_vnni_supported() -> bool:
    """Whether the processor multiplies bytes into sums of 32 bits."""
    return _has("avx512_vnni")


def _is_amx_tile_supported() -> bool:
    """Whether the processor has tiles."""
    return _has("amx_tile")


def _is_amx_fp16_supported() -> bool:
    """Whether its tiles multiply float16."""
    return _has("amx_fp16")


def _init_amx() -> bool:
    """Asks for the use of tiles: no kernel uses any, so that nothing is asked for."""
    return False
