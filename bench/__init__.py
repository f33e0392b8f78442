"""What roastcoffea costs, beside its floor: run as `python -m bench` from the repository's root."""
