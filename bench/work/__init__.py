"""The work that is measured, the same on both sides: it uses only names that 0.1.2 has as well.

A function here runs in a process of one side (bench/sides.py) and returns what fits into JSON. What a side has
in a form of its own (a log, a series) is made before the clock starts.
"""

from importlib.util import find_spec

from tools import loopback_only

OURS = find_spec("roastcoffea._core") is not None

loopback_only.install()  # the workers of bench/work/scheduler.py have addresses and no machine
