"""Symbolic numbers: ints, floats and bools whose values are unknown while a program is traced."""
