"""Soaks: a store and its service under load, killed and damaged; every input path with neighbours.

store_kills          a store's process is killed      store_process     that process
service_kills        the service is killed            service_process   its process, right or wrong
service_clients      clients of that service          damaged_logs      a damaged write-ahead log
disk_faults          faults at every write and sync   failing_disk      a disk that fails on demand
concurrent_writers   processes that open one store    report_parts      the parts of the page
request_fuzzing      many malformed requests          request_cases     well-formed and broken ones
watched_service      the service that receives them   http_answers      the answers that it declares
person_kills         kills with limits per person     person_report     their page
neighbours           random inputs and neighbours, on every input path
"""
