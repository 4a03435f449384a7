"""`plan` with the paper's mechanism, for tests of what is true of Gaussian plans alone."""

import hushfade as hf


def plan(*arguments, method="square_root", **more):
    """The plan, with Gaussian noise on the square root unless another method is given."""
    return hf.plan(*arguments, method=method, **more)
