"""Settings of the compiler."""

__all__ = ["job_id"]

job_id: str | None = None
"""A name that all processes of one job share, to find what the others have compiled."""
