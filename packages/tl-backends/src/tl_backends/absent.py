"""The errors for devices that this installation has no plug-in for.

Types and opening words are those that programs and their tests look for.
"""


def cuda(wanted: str) -> AssertionError:
    """What a call that needs a CUDA device raises."""
    return _not_compiled("CUDA", wanted)


def xpu(wanted: str) -> AssertionError:
    """What a call that needs an XPU device raises."""
    return _not_compiled("XPU", wanted)


def mtia(wanted: str) -> RuntimeError:
    """What a call that needs an MTIA device raises."""
    return _without_backend("MTIA", wanted)


def mps(wanted: str) -> RuntimeError:
    """What a call that needs an MPS device raises."""
    return _without_backend("MPS", wanted)


def accelerator(wanted: str) -> RuntimeError:
    """What a call that needs any device but the CPU raises."""
    return RuntimeError(
        f"Cannot access accelerator device when none is available: {wanted} needs one, tl has the CPU"
    )


def _not_compiled(device: str, wanted: str) -> AssertionError:
    return AssertionError(
        f"Torch not compiled with {device} enabled: "
        f"{wanted} needs a device of type {device.lower()}, tl has only the CPU"
    )


def _without_backend(device: str, wanted: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot execute {wanted} without {device} backend: "
        f"it needs a device of type {device.lower()}, tl has only the CPU"
    )
