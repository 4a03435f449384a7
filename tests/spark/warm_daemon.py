"""Spark's daemon of Python workers, after it has imported and loaded what their tasks use.

The tests make every task fail once.  A task that fails ends its worker, and each new worker would
spend a second on imports and compiled code.
"""

from pyspark.daemon import manager

import hushfade.spark
from hushfade import UnsafeSeededNoise
from tests.spark.cases import events, on_one_machine

assert hushfade.spark  # and with it pandas and pyarrow

if __name__ == "__main__":
    on_one_machine(events(count=2), UnsafeSeededNoise(0))
    manager()
