"""What the repository runs on itself."""
