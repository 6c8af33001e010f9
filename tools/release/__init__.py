"""Releases of the packages: versions, changelogs, tags, the rehearsal, and the meeting of old and new packages."""
