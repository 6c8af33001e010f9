"""The Python half of Tensor, and descriptions of the build and of the settings of a process."""
