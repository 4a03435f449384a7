"""The option that plans several series together."""

from pathlib import Path
from typing import Annotated

from hushfade.cli.options.parameters import OptionGroup, option, option_group


@option_group("Several series")
class TogetherOptions(OptionGroup):
    """Several series about the same people, in a file."""

    together: Annotated[
        Path | None,
        option(
            "Plan the series of this TOML file under one guarantee, with the smallest errors "
            "relative to each series alone. Each table [[series]] has a name and any of the fields "
            "decay, half_life, alpha, power, window, weights, every, horizon, low, high, "
            "resolution, keys, and the fields of a statistic (mean, share, variance, histogram "
            "with edges, quantiles, ratio), which have the meaning of the options. The field "
            "weight sets how much the error of the series matters (default 1).",
            "FILE",
        ),
    ] = None
