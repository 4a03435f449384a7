"""The options for the bounds and the keys of records."""

from pathlib import Path
from typing import Annotated

from hushfade.cli.options.name_lists import distinct, names_in
from hushfade.cli.options.parameters import OptionGroup, number, option, option_group
from hushfade.errors import InvalidValue

_BOUNDS = "choose them without looking at the data, because the largest value belongs to one person"


@option_group("Records")
class BoundsOptions(OptionGroup):
    """The smallest and the largest value of a record."""

    low: Annotated[
        float | None,
        number(
            "The smallest value of a record. Smaller values count as this value. Choose it without "
            "looking at the data."
        ),
    ] = None
    high: Annotated[
        float | None,
        number(
            "The largest value of a record. Larger values count as this value. Choose it without "
            "looking at the data."
        ),
    ] = None

    @property
    def counting(self) -> bool:
        """Whether each record counts as 1."""
        return self.low is None and self.high is None

    def bounds(self, *, valued: bool) -> tuple[float, float]:
        """The bounds; without them each record counts as 1, unless records are `valued`.

        >>> BoundsOptions().bounds(valued=False)
        (0.0, 1.0)
        """
        if self.counting and not valued:
            return 0.0, 1.0
        if self.low is None or self.high is None:
            where = " if records have values" if self.counting else ""
            raise InvalidValue(f"--low and --high must both be given{where}: {_BOUNDS}")
        if self.low >= self.high:  # NaN passes, and is rejected as a number that is not finite
            raise InvalidValue("--low must be < --high", got=f"{self.low:g} and {self.high:g}")
        return self.low, self.high


@option_group("Records")
class RecordOptions(BoundsOptions):
    """The bounds, the grid and the keys of records."""

    resolution: Annotated[
        float | None,
        number(
            "hushfade rounds each record to a multiple of this power of two. Use 1 if all records "
            "are whole numbers.",
            default="at most 1/1024 of the range; 1 without --low and --high",
        ),
    ] = None
    keys: Annotated[
        str | None,
        option("Release one series for each of these keys. Declare all keys in advance.", "A,B,C"),
    ] = None
    keys_file: Annotated[
        Path | None, option("A UTF-8 file with one key per line, in place of --keys.", "FILE")
    ] = None

    def declared_keys(self) -> tuple[str, ...] | None:
        """The keys from the option or the file.  Errors state the position of a key, not the key.

        >>> RecordOptions(keys="at,ch,de").declared_keys()
        ('at', 'ch', 'de')
        """
        if self.keys is not None and self.keys_file is not None:
            raise InvalidValue("--keys and --keys-file cannot be combined")
        if self.keys is not None:
            return distinct(self.keys.split(","), "--keys", "place")
        if self.keys_file is None:
            return None
        return names_in(self.keys_file, "keys")
