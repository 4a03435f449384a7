"""Neighbouring inputs: on every input path, one record changes only its own contribution.

A case is a random input and a neighbour of it, with one record added, removed or changed.  The code
that users call reads both, up to the units per step and key.  `meaning` independently computes the
expected units.  The two inputs may differ only by the contribution of the changed record.  A
malformed record must stop the job before any noise is drawn, or change nothing.

    meaning        the meaning of a record, and the units of an input, in plain Python
    settings       the declarations of a case: plan, columns, steps, units of time
    fields         random fields of a record, as text, JSON or objects, with their meaning
    input_path     the interface of an input path
    csv_rows, json_rows     random lines
    text_paths     CSV, TSV, JSON lines, live lines
    request_paths  HTTP JSON and NDJSON
    request_statistics     the same for streams with a statistic
    stream_path    records of Stream.step
    column_types   random types of columns, and values of each
    typed_paths    Parquet, Arrow, pandas and Polars
    spark_path     Spark tables, many cases in one job
    cases          random cases, and the property that they test
    seeded_bugs, wrong_readers     readers with one bug each, which the cases must detect
    all_paths, report_parts        the paths by name, and the page of results
"""
