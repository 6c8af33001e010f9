"""Names for a device of one's own."""

from tl_core.settings.extension_devices import rename_privateuse1_backend
from tl_nn.extension_methods import generate_methods_for_privateuse1_backend

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]
