"""Tests of passes that come with the package."""
