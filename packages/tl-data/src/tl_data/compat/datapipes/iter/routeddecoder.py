"""Files decoded by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe
from ..utils.decoder import Decoder, extension_extract_fn

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """(path, decoded data) of (path, open binary file), by the first handler that returns a value.

    Args:
        datapipe: the pipe of paths and files.
        handlers: functions of key and bytes; the first result that isn't None counts.
        key_fn: function of a path that returns the handlers' key, such as the extension.

    Example:
        >>> import io
        >>> from tl_data.compat.datapipes.iter import IterableWrapper
        >>> files = IterableWrapper([("a.txt", io.BytesIO(b"hello"))], deepcopy=False)
        >>> def text(extension, data):
        ...     return data.decode() if extension == "txt" else None
        ...
        >>> list(files.routed_decode(text))
        [('a.txt', 'hello')]
    """

    def __init__(
        self,
        datapipe: Iterable[tuple[str, Any]],
        *handlers: Callable[..., Any],
        key_fn: Callable[[str], str] = extension_extract_fn,
    ) -> None:
        self.datapipe = datapipe
        self.decoder = Decoder(*handlers, key_fn=key_fn)

    def add_handler(self, *handlers: Callable[..., Any]) -> None:
        """Appends handlers."""
        self.decoder.add_handler(*handlers)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path, file in self.datapipe:
            yield path, self.decoder(path, file)

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]
