"""The interface of observers that start and stop with a profile."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["_ITraceObserver"]


class _ITraceObserver(ABC):
    """Something that begins and ends with a profile."""

    @abstractmethod
    def start(self) -> None:
        """The profile begins."""

    @abstractmethod
    def stop(self) -> None:
        """It ends."""

    @abstractmethod
    def cleanup(self) -> None:
        """It is used no more."""
