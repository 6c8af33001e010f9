"""Programs that show how to measure: `python -m tl_utils.benchmark.examples.compare`."""
