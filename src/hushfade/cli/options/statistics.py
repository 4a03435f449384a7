"""The options that choose what is computed from the records of a run: a mean, a share and so on."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from hushfade.cli.options.parameters import (
    OptionGroup,
    count,
    naming_options,
    number,
    number_in,
    option,
    option_group,
)
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.cli.options.records import RecordOptions
    from hushfade.cli.options.run import RunRecordOptions
    from hushfade.public.statistics import LaneStatistic

_KINDS = ("mean", "share", "variance", "histogram", "quantiles", "ratio")
_OF_RATIO = ("numerator_high", "denominator_high", "largest_ratio")

_FORMS = {  # the form of an option with two parts, and an example
    "share": ("COLUMN=VALUE", "result=positive"),
    "quantiles": ("COLUMN=Q,Q", "latency=.5,.9"),
    "ratio": ("COLUMN/COLUMN", "errors/requests"),
}
_RATIO_NAMES = {
    "numerator": "numerator_high",
    "denominator": "denominator_high",
    "most": "largest_ratio",
}


@option_group("Statistic")
class StatisticOptions(OptionGroup):
    """A statistic in place of a sum or a count."""

    mean: Annotated[
        str | None,
        option("Release the mean of this column. Needs --low and --high.", "COLUMN"),
    ] = None
    share: Annotated[
        str | None,
        option(
            "Release the share of records with exactly this text in this column, such as "
            "result=positive.",
            "COLUMN=VALUE",
        ),
    ] = None
    variance: Annotated[
        str | None,
        option(
            "Release the variance of this column, with its mean and standard deviation. Needs "
            "--low and --high.",
            "COLUMN",
        ),
    ] = None
    histogram: Annotated[
        str | None,
        option(
            "Release the number of records in each bin of this column. Needs --edges.", "COLUMN"
        ),
    ] = None
    edges: Annotated[
        str | None,
        option(
            "The edges of the bins of --histogram, in increasing order. Values outside count in "
            "the first or the last bin. Choose them without looking at the data.",
            "A,B,C",
            allow_leading_hyphen=True,
        ),
    ] = None
    quantiles: Annotated[
        str | None,
        option("Release quantiles of this column, such as latency=.5,.9. Needs --low and --high.",
            "COLUMN=Q,Q",
        ),
    ] = None  # fmt: skip
    bins: Annotated[
        int | None,
        count(
            "The number of bins of --quantiles.",
            default="the number with the smallest predicted error",
        ),
    ] = None
    expect_records: Annotated[
        float | None,
        number(
            "The decayed number of records that you expect for --quantiles, without looking at the "
            "data. It only affects the number of bins.",
            default="1000",
        ),
    ] = None
    ratio: Annotated[
        str | None,
        option(
            "Release the sum of one column over the sum of another, such as errors/requests. Needs "
            "--numerator-high, --denominator-high and --largest-ratio.",
            "COLUMN/COLUMN",
        ),
    ] = None
    numerator_high: Annotated[
        float | None, number("The largest numerator of a record: larger ones count as this one.")
    ] = None
    denominator_high: Annotated[
        float | None, number("The largest denominator of a record: larger ones count as this one.")
    ] = None
    largest_ratio: Annotated[float | None, number("The largest ratio that is reported.")] = None
    suppress_below: Annotated[
        float | None,
        number(
            "Leave out values whose noisy count is below this number. Costs no privacy, because it "
            "looks at released numbers only."
        ),
    ] = None

    @property
    def kind(self) -> str | None:
        """The option that names the statistic; None for sums and counts."""
        given = [name for name in _KINDS if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidValue(f"--{given[0]} and --{given[1]} cannot be combined")
        kind = given[0] if given else None
        if self.suppress_below is not None and not self.suppress_below > 0:
            raise InvalidValue("--suppress-below must be > 0", got=self.suppress_below)
        needs = {"edges": "histogram", "bins": "quantiles", "expect_records": "quantiles"}
        needs |= dict.fromkeys(_OF_RATIO, "ratio")
        for name, other in needs.items():
            if getattr(self, name) is not None and kind != other:
                raise InvalidValue(f"--{name.replace('_', '-')} needs --{other}")
        return kind

    @property
    def column(self) -> str | None:
        """The column that the statistic is about.

        >>> StatisticOptions(share="result=positive").column
        'result'
        """
        kind = self.kind
        if kind is None:
            return None
        text: str = getattr(self, kind)
        return self._divided(kind)[0] if kind in ("share", "quantiles", "ratio") else text

    @property
    def denominator(self) -> str | None:
        """The second column of a ratio."""
        return self._divided("ratio")[1] if self.kind == "ratio" else None

    @property
    def label(self) -> str | None:
        """The statistic in words, for figures.

        >>> StatisticOptions(share="result=positive").label
        'share of result = positive'
        """
        kind = self.kind
        if kind is None:
            return None
        text: str = getattr(self, kind)
        match kind:
            case "share":
                return f"share of {' = '.join(self._divided(kind))}"
            case "ratio":
                return f"ratio {' / '.join(self._divided(kind))}"
            case "histogram":
                return f"number of records by {text}"
        return f"{kind} of {self.column}"

    def read_from(self, records: "RunRecordOptions") -> "RunRecordOptions":
        """The options of the records, with the statistic's column as the value."""
        if self.column is None:
            return records
        if records.value is not None:
            raise InvalidValue(
                f"--{self.kind} and --value cannot be combined: --{self.kind} names the column"
            )
        return replace(records, value=self.column)

    def statistic(self, records: "RecordOptions") -> "LaneStatistic | None":
        """The statistic, with the bounds of the records where it needs them."""
        kind = self.kind
        if kind is None:
            return None
        bounded = kind in ("mean", "variance", "quantiles")
        if not bounded and not records.counting:
            raise InvalidValue(
                f"--{kind} cannot be combined with --low or --high"
                + {
                    "histogram": ": --edges are the bounds",
                    "ratio": ": use --numerator-high and --denominator-high",
                }.get(kind, ": each record counts 1")
            )
        if kind not in ("mean", "variance") and records.resolution is not None:
            raise InvalidValue(
                f"--{kind} and --resolution cannot be combined: each record counts 1"
            )
        low, high = records.bounds(valued=True) if bounded else (0.0, 1.0)
        with naming_options(self, records, expect="expect_records", **_RATIO_NAMES):
            return self._made(kind, low, high)

    def _made(self, kind: str, low: float, high: float) -> "LaneStatistic":
        from hushfade.public.statistics import Histogram, Mean, Quantiles, Ratio, Share, Variance

        match kind:
            case "mean" | "variance":
                return Mean(low, high) if kind == "mean" else Variance(low, high)
            case "share":
                return Share(of=self._divided(kind)[1])
            case "ratio":
                most = [getattr(self, name) for name in _OF_RATIO]
                if None in most:
                    raise InvalidValue(
                        "--ratio needs --numerator-high, --denominator-high and --largest-ratio"
                    )
                return Ratio(*most)
            case "histogram":
                if self.edges is None:
                    raise InvalidValue("--histogram needs --edges, such as 0,18,65,120")
                return Histogram(_numbers(self.edges, "--edges"))
        asked = _numbers(self._divided(kind)[1], "--quantiles")
        if any(1.0 <= one <= 100.0 for one in asked):
            raise InvalidValue(
                "--quantiles must be shares between 0 and 1, such as .9 for the 90th percentile",
                got=self._divided(kind)[1][:40],
            )
        return Quantiles(asked, low, high, bins=self.bins, expect=self.expect_records)

    def _divided(self, kind: str) -> tuple[str, str]:
        """The column before the first equals sign or slash, and what is after it."""
        text: str = getattr(self, kind)
        divider = "/" if kind == "ratio" else "="
        column, sign, rest = text.partition(divider)
        if not (sign and column and rest):
            form, example = _FORMS[kind]
            raise InvalidValue(f"--{kind} must have the form {form}, such as {example}")
        return column, rest


def _numbers(text: str, name: str) -> list[float]:
    try:
        return [number_in(one) for one in text.split(",")]
    except ValueError:
        raise InvalidValue(
            f"{name} must be numbers, separated by commas", got=repr(text[:40])
        ) from None
