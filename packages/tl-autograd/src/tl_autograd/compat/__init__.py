"""Private names of derivatives and transforms that libraries import. README.md describes the folder."""
