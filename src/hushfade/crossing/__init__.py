"""The crossing: the only place where noise is added to private integers.

step              v + z, between the private product and the public one, compiled
memory            how the state of a stream lies in two flat arrays
laws              the laws of the noise
noise_sources     where random bits come from: fresh, keyed, or seeded for tests
key_file          a key on disk that workers share
sampling          compiled loops that turn random bits into draws
"""
