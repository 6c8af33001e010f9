"""A name that old pickles of modules hold: see `thnn`."""
