"""Names of the anomaly mode, which is not there yet."""

from __future__ import annotations

from typing import Any

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switching anomaly detection off does nothing; switching it on raises: it is not there yet."""

    def __init__(self, mode: bool, check_nan: bool = True):
        if mode:
            raise NotImplementedError(
                "anomaly detection (set_detect_anomaly, detect_anomaly) is not there yet in tl_autograd"
            )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


class detect_anomaly(set_detect_anomaly):
    """Not there yet: raises NotImplementedError."""

    def __init__(self, check_nan: bool = True):
        super().__init__(True, check_nan)
