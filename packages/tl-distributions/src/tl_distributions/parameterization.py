"""Distributions that take probabilities or logits, one of the two, and derive the other when it is read."""

from __future__ import annotations

from typing import Any

from tl_core import Size, Tensor

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["BinaryParameter", "ClassParameter", "EventParameter"]


class EventParameter:
    """A distribution with one of the parameters `probs` and `logits`, from which the other one is computed."""

    _from_probs: bool
    _binary = True

    def _choose(self, probs: Any, logits: Any) -> Any:
        """Returns the parameter that was passed and records whether it is `probs`."""
        if (probs is None) == (logits is None):
            raise ValueError(
                f"Either `probs` or `logits` must be specified, but not both, for {type(self).__name__}."
            )
        self._from_probs = logits is None
        return probs if self._from_probs else logits

    def _keep(self, value: Tensor) -> Tensor:
        """Stores the parameter under its name."""
        self.__dict__["probs" if self._from_probs else "logits"] = value
        return value

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_from_probs" not in state:  # a pickle that PyTorch wrote
            parameter = self.__dict__.pop("_param", state.get("probs"))
            self._from_probs = parameter is not None and parameter is state.get("probs")

    @property
    def _derived_parameter(self) -> str:
        """The name of the parameter that is computed from the other one."""
        return "logits" if self._from_probs else "probs"

    @property
    def _param(self) -> Tensor:
        """The parameter that was passed."""
        value: Tensor = self.__dict__["probs" if self._from_probs else "logits"]
        return value

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was passed."""
        return self._param.shape

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, self._binary)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds, or the log probabilities of classes."""
        return probs_to_logits(self.probs, self._binary)


class BinaryParameter(EventParameter):
    """The probability of success of each trial, or its log-odds."""

    def _set_parameter(self, probs: Any, logits: Any) -> Tensor:
        """Stores the parameter that was passed, as a tensor."""
        (value,) = broadcast_all(self._choose(probs, logits))
        return self._keep(value)


class ClassParameter(EventParameter):
    """The probabilities of classes along the last dimension, or their logarithms, normalized."""

    _binary = False

    def _set_parameter(self, probs: Any, logits: Any) -> Tensor:
        """Stores the parameter that was passed, normalized."""
        value = self._choose(probs, logits)
        name = "probs" if self._from_probs else "logits"
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if self._from_probs:
            return self._keep(value / value.sum(-1, keepdim=True))
        return self._keep(value - value.logsumexp(-1, keepdim=True))
