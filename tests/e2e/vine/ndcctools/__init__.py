"""Stands in for the package of the same name, which is on no registry that the tests can reach."""
