"""Values that hold when nothing else is said."""

from datetime import timedelta

default_pg_timeout = timedelta(minutes=30)
default_store_timeout = timedelta(minutes=5)
