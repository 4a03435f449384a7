"""The service under load and in a failing environment, each point with a control.

builds              the service as it is, and builds with an older behaviour
served              a build in a process of its own
http_clients        many connections from one process
health              a process that watches /health
readers, listeners, many_streams, wide_streams, idle_connections      load
clock_jumps, failing_database, group_kills                            failures
"""
