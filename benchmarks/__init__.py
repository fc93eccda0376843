"""Compare fluxlite with its peers in one run: ``python -m benchmarks`` (or ``make bench``).

Nothing here is a test. Figures are printed with the limits that they should keep, and the exit status stays 0
unless you pass ``--strict``. On a shared machine, times vary by 30% on their own. So the contenders take turns in
rounds, and we compare the ratio of their medians.
"""
