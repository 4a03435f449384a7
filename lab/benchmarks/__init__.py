"""Speed, measured as ratios within one run: `make bench`, or `python -m lab.benchmarks`.

noise, stream, counting, growth   draws, steps of streams, memory, and how they grow
files, service, spark             complete commands, the service and Spark, against plain programs
startup                           the time to import and to plan
power_series, theory              the numerical kernels in units of one FFT product
compact_factors                   fits by a few exponentials
peer_comparison                   the same jobs in other libraries, which run as peer processes
"""
