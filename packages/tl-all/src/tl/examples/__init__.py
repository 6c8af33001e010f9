"""Programs that show tl at work: `python -m tl.examples.digits --help`."""
