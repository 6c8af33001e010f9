"""What is being tried out and may change or go. There is nothing at present."""

__all__: list[str] = []
