"""The choice of zeros, a rule a file."""
