"""Engines that run a plan on many machines, a range of its lanes here and a range there.

    part        a range of lanes: state and totals in, state and releases out, the same each time
    keyfile     where workers find the noise's key, which does not travel
    spark       Apache Spark, streams and tables

An engine runs a task again when a machine is lost, or when it is slow.  So noise is keyed: what is
run again draws the same noise for the same totals, and gives the same bytes.
"""
