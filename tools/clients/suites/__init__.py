"""The libraries' own tests, fetched and run on tl where no torch is installed."""
