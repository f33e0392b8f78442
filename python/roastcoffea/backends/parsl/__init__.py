"""Parsl: the source of a run, its tries, and the logs and the database that its workers leave."""
