"""Plots of a run, in matplotlib: see roastcoffea.visualization.plots."""
