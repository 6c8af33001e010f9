"""Tells Callgrind, from inside the program that it runs, when to count.

valgrind knows a request by a sequence of instructions that does nothing on the processor itself: rotations by 128 bits
in all, and a register moved to itself ("The Client Request mechanism", valgrind's manual). There is no header of
valgrind's to compile here, so the sequence stands as bytes in memory that may be executed.
"""

from __future__ import annotations

import ctypes
import mmap
import platform

__all__ = ["Requests"]

_CALLGRIND = ord("C") << 24 | ord("T") << 16
_DUMP, _ZERO, _TOGGLE = _CALLGRIND, _CALLGRIND + 1, _CALLGRIND + 2

# A function that takes the address of six words: the request and its arguments.
_CODE = {
    # mov rax, rdi; xor edx, edx; rol rdi, 3; rol rdi, 13; rol rdi, 61; rol rdi, 51; xchg rbx, rbx; mov rax, rdx; ret
    "x86_64": "4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3",
    # mov x4, x0; mov x3, xzr; ror x12, x12, 3; 13; 51; 61; orr x10, x10, x10; mov x0, x3; ret
    "aarch64": "e40300aa e3031faa 8c0dcc93 8c35cc93 8ccdcc93 8cf5cc93 4a010aaa e00303aa c0035fd6",
}


class Requests:
    """Callgrind's switches.

    Raises:
        OSError: the processor is neither x86-64 nor 64-bit ARM.
    """

    def __init__(self) -> None:
        machine = platform.machine()
        if machine not in _CODE:
            raise OSError(
                f"collect_callgrind: there are no client requests for {machine}; x86_64 and aarch64 have them"
            )
        code = bytes.fromhex(_CODE[machine])
        self._memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(code)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._call = ctypes.PYFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p)(self.address)
        self._dump, self._zero, self.toggle_words = ((ctypes.c_ulong * 6)(r) for r in (_DUMP, _ZERO, _TOGGLE))

    def toggle(self) -> float:
        """Begins to count, or stops."""
        self._call(self.toggle_words)
        return 0.0

    def zero(self) -> None:
        """Resets the counts."""
        self._call(self._zero)

    def dump(self) -> None:
        """Writes the counts into the next file."""
        self._call(self._dump)
