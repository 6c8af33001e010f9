"""Calls that are recorded once and replayed without Python, where it is proved that the result is the same."""
