"""The choice among several kernels for one operator on CUDA devices. Nothing is tuned: there is no device."""

from tl_backends.absent_device import CUDA

__all__ = [
    "enable",
    "get_filename",
    "get_max_tuning_duration",
    "get_max_tuning_iterations",
    "get_results",
    "get_rotating_buffer_size",
    "get_validators",
    "is_enabled",
    "mgpu_tune_gemm_in_file",
    "read_file",
    "record_untuned_enable",
    "record_untuned_is_enabled",
    "set_filename",
    "set_max_tuning_duration",
    "set_max_tuning_iterations",
    "set_rotating_buffer_size",
    "tune_gemm_in_file",
    "tuning_enable",
    "tuning_is_enabled",
    "write_file",
    "write_file_on_exit",
]


def is_enabled() -> bool:
    """Whether the choice is made by measurement: False."""
    return False


def tuning_is_enabled() -> bool:
    """Whether what hasn't been measured yet will be: False."""
    return False


def record_untuned_is_enabled() -> bool:
    """Whether what hasn't been measured is written down: False."""
    return False


def enable(val: bool = True) -> None:
    """Lets the choice be made by measurement, or not."""
    _refuse("enable", val)


def tuning_enable(val: bool = True) -> None:
    """Lets what hasn't been measured yet be measured, or not."""
    _refuse("tuning_enable", val)


def record_untuned_enable(val: bool = True) -> None:
    """Lets what hasn't been measured be written down, or not."""
    _refuse("record_untuned_enable", val)


def _refuse(name: str, wanted: bool) -> None:
    if wanted:
        raise CUDA.error(f"tunable.{name}")


def get_results() -> tuple:
    """What has been measured: nothing."""
    return ()


def get_validators() -> tuple:
    """What must be equal for results to be used again: nothing."""
    return ()


def get_filename() -> str:
    """The file of results."""
    raise CUDA.error("tunable.get_filename")


def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
    """Sets the file of results."""
    raise CUDA.error(f"tunable.set_filename({filename!r})")


def read_file(filename: str | None = None) -> bool:
    """Reads results from a file."""
    raise CUDA.error("tunable.read_file")


def get_max_tuning_duration() -> int:
    """The most milliseconds spent on one choice."""
    raise CUDA.error("tunable.get_max_tuning_duration")


def set_max_tuning_duration(duration: int) -> None:
    """Sets the most milliseconds spent on one choice."""
    raise CUDA.error("tunable.set_max_tuning_duration")


def get_max_tuning_iterations() -> int:
    """The most runs spent on one choice."""
    raise CUDA.error("tunable.get_max_tuning_iterations")


def set_max_tuning_iterations(iterations: int) -> None:
    """Sets the most runs spent on one choice."""
    raise CUDA.error("tunable.set_max_tuning_iterations")


def get_rotating_buffer_size() -> int:
    """The megabytes that inputs are spread over, so that no run finds them in the cache."""
    raise CUDA.error("tunable.get_rotating_buffer_size")


def set_rotating_buffer_size(buffer_size: int) -> None:
    """Sets the megabytes that inputs are spread over."""
    raise CUDA.error("tunable.set_rotating_buffer_size")


def tune_gemm_in_file(filename: str) -> None:
    """Measures the matrix products that a file lists."""
    raise CUDA.error(f"tunable.tune_gemm_in_file({filename!r})")


def mgpu_tune_gemm_in_file(filename_pattern: str, num_gpus: int) -> None:
    """Measures the matrix products that several files list, on several devices."""
    raise CUDA.error(f"tunable.mgpu_tune_gemm_in_file({filename_pattern!r})")


def write_file(filename: str | None = None) -> bool:
    """Whether results were written to the file: False, as there are none.

    Args:
        filename: the file; None for that of `set_filename`.
    """
    return False


def write_file_on_exit(val: bool) -> None:
    """Whether results are written when the process ends: there are none, whatever is set.

    Args:
        val: whether they would be.
    """
