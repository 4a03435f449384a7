"""Soaks: a store and its service under load, killed and damaged; every input path with neighbours.

store_kills          a store's process is killed      store_process     that process
service_kills        the service is killed            service_process   its process, right or wrong
service_clients      clients that send, close, read   damaged_logs      a damaged write-ahead log
disk_faults          faults at every write and sync   failing_disk      a disk that fails on demand
concurrent_writers   processes that open one store    report_parts      the parts of the page
request_fuzzing      many wrong requests              request_cases     how they are made and broken
watched_service      the service that receives them   http_answers      what an answer may be
neighbours           random inputs and neighbours, on every input path
"""
