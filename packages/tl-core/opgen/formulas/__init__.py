"""Formulas of rows: the parser reads a formula as a typed tree, the emitter lowers the tree to steps of a program."""
