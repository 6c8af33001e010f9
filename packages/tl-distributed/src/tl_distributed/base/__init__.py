"""Errors, constants, reductions and the work of a collective: what every room of the package uses."""
