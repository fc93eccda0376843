"""Side by side against peers, in one run: ``python -m benchmarks`` (or ``make bench``).

Nothing here is a test: figures are printed beside the bars they are meant to reach, and the exit
status stays 0 unless ``--strict`` asks otherwise. A time on a shared machine moves by 30% by itself,
so what is compared is the ratio of medians of rounds that alternate between the contenders.
"""
