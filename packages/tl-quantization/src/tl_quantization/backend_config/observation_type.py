"""The kinds of observation, under the module's older name."""

from .backend_config import ObservationType

__all__ = ["ObservationType"]
