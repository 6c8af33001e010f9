"""Memory: storages, mapped memory, statistics, snapshots and histories, transfers to files."""
