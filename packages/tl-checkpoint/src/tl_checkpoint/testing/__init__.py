"""Fuzz tests of loaders: damaged and forged files, and a process that loads them under limits.

`damage` changes bytes, `forgery` writes consistent files of changed parts, and `fuzzing` loads both and counts faults.
"""
