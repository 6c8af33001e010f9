"""Settings of the process and of a thread: switches, determinism, precision, the processor."""
