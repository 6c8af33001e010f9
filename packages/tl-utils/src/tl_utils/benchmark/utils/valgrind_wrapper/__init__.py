"""Instruction counts by valgrind's Callgrind."""
