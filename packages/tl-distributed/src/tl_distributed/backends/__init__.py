"""Backends: the communicators that carry a collective, over shared memory, TCP, or a class of the program."""
