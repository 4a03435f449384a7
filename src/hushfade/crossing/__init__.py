"""The crossing: the only place where noise is added to private integers.

step              one step of the mechanism, compiled; `cross` adds the noise
memory            the constants and the state of a stream in two flat arrays, with named offsets
laws              noise laws, each with exact probabilities on the integers
noise_sources     fresh, keyed or seeded noise: which key the random bits have
random_bits       random bits by position, and draws from them
key_file          keyed noise with its key in a file, also for workers elsewhere
sealed_totals     a digest of totals under the key: which totals a name has served
key_record        what a key file has served: one job under one name
sampling          compiled loops that turn random bits into draws
"""
