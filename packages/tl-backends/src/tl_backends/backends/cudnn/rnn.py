"""cuDNN's recurrent layers. tl doesn't have cuDNN; its numbers of the modes are told."""

from typing import Any

from tl_backends.device_kind import CUDA

__all__ = ["Unserializable", "get_cudnn_mode", "init_dropout_state"]

_MODES = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}


def get_cudnn_mode(mode: str) -> int:
    """cuDNN's number of a kind of layer.

    Args:
        mode: `RNN_RELU`, `RNN_TANH`, `LSTM` or `GRU`.

    Raises:
        ValueError: it is none of them.

    Example:
        >>> get_cudnn_mode("LSTM")
        2
    """
    if mode not in _MODES:
        raise ValueError(f"get_cudnn_mode(): mode must be one of {', '.join(_MODES)}, got {mode!r}")
    return _MODES[mode]


class Unserializable:
    """Holds what is not to be pickled: unpickled, it holds None.

    Args:
        inner: what it holds.

    Example:
        >>> from tl_backends.backends.cudnn.rnn import Unserializable
        >>> Unserializable(5).get()
        5
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def get(self) -> Any:
        """What it holds."""
        return self.inner

    def __getstate__(self) -> str:
        return "<unserializable>"

    def __setstate__(self, state: Any) -> None:
        self.inner = None


def init_dropout_state(dropout: float, train: bool, dropout_seed: int, dropout_state: dict[str, Any]) -> Any:
    """The state of cuDNN's dropout. Raises RuntimeError: there is no CUDA device.

    Args:
        dropout: the probability.
        train: whether dropout is applied.
        dropout_seed: the seed.
        dropout_state: a dictionary that keeps the state.
    """
    raise CUDA.error_of("backends.cudnn.rnn.init_dropout_state")
