"""The crossing: the only place where noise is added to private integers.

step                  one step of the mechanism, compiled; `cross` adds the noise
memory                the constants and the state of a stream in two flat arrays
exact_probabilities   probabilities of the noise laws, in integers and decimal numbers
sampling_tables       cumulative tables of 127-bit probabilities, one per law
draws                 draws from a table, each a function of its own random words
sampling              compiled loops that turn random words into draws
random_bits           random words by position, and draws from them
noise_sources         fresh, keyed or seeded noise: the origin of the key of the random words
key_file              keyed noise with its key in a file, also for workers on other machines
key_record            the record of the jobs that used a key: one job per name
sealed_totals         a keyed digest of totals, which identifies the input of a job
"""
