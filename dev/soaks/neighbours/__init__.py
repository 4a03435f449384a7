"""Neighbouring inputs: for every input path, one record changes its own contribution alone.

A case is a random input and a neighbour of it, with one record added, removed or changed.  Both are
read by the code that users call, up to the units per step and key.  `meaning` says independently
what the units must be.  So must the difference between the two inputs be what the changed record
contributes, and a malformed record must stop the whole job before any noise, or change nothing.

    meaning        what a record means, and the units of an input, by plain Python
    settings       what is declared for a case: plan, columns, steps, units of time
    fields         random fields of a record, in text, in JSON, as objects, and what each means
    input_path     what every input path has
    csv_rows, json_rows     random lines
    text_paths     CSV, TSV, JSON lines, live lines
    request_paths  HTTP JSON and NDJSON
    stream_path    records that are given to a stream in Python
    column_types   random types of columns, and values of each
    typed_paths    Parquet, Arrow, pandas and Polars
    spark_path     tables of Spark, many cases in one job
    cases          random cases, and the property
    seeded_bugs, wrong_readers     readers with one thing wrong, which the cases must notice
    all_paths, report_parts        the paths by name, and the page of results
"""
