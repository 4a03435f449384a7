"""Soaks: a store and its service under load, killed and damaged again and again.

kills      a store's process is killed           child      the process, which says what it does
service    the service is killed                 served     its process, as it is or with a bug
clients    who sends, closes and reads           servers    a PostgreSQL server, which may crash
logs       a write-ahead log, damaged            disks      a disk that fails when it is told to
faults     at every write and every sync         writers    processes that want one store
requests   requests of which most are wrong      cases      how they are made and broken
target     the service that they are sent to     answers    what an answer may be
parts      the parts of the page
"""
