"""The parts of `benchmark`: measurements, timers, tables, random inputs, instruction counts."""
