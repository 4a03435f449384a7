"""Exact probabilities of the noise laws, in integers and decimal numbers.

exact_law           the interface between the sampler and a law
gaussian            the rounded normal law
laplace             the two-sided geometric law
huber               the rounded law between the two
normal_integrals    integrals of e^(-t²/2), for the rounded normal law and the core of Huber's
geometric_tails     cumulative probabilities whose complement falls by one factor per cell
fixed_point         numbers with 200 binary or 90 decimal digits

The same parameters give the same integers on every machine, because no floats are used.
"""
