"""Programs that show tl at work: `tl examples`, `tl examples digits --help`."""
