"""Schemas of operators: types, parser, signatures of Python, tags."""
