"""Questions about several runs: compared, over time, on different numbers of cores.

The answers are computed in numpy over the columns of the engine. What an interval means, and how often it holds in
simulated runs, is on the pages "Comparing runs" and "How sure".
"""
