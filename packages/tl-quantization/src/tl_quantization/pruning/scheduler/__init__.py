"""The share of zeros over time, a schedule a file."""
