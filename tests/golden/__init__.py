"""What every change of the code is compared with.

python -m tests.golden             write the golden vectors again
python -m tests.golden --check     compare them with the present code
python -m tests.golden.inventory   write the lists of commands, routes and names again

cases          plans that cover decays, laws, methods, units, records and statistics
vectors        what is recorded of a plan: integers, privacy, accuracy, and 300 steps of a stream
adapter        the only module that reads names which are not public
comparison     the differences between recorded and present values
"""
