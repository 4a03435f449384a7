"""Figures as PNG or SVG files, written atomically, with the same bytes for the same figure."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.atomic_files import whole
from hushfade.errors import InvalidType, InvalidValue

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write(figure: Figure, path: str | Path) -> None:
    """Write the figure to the path, as PNG or SVG depending on its suffix.

    The file is written under another name and then renamed, so a reader sees the old or the new
    file.  It contains no date and no version, so the same figure has the same bytes with the same
    matplotlib.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if not isinstance(figure, Figure):
        raise InvalidType("figure must be a matplotlib Figure", got=type(figure).__name__)
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in (".png", ".svg"):
        raise InvalidValue("path must end in .png or .svg", got=repr(target.name))
    if not target.parent.is_dir():
        raise InvalidValue("path must be in an existing directory", got=repr(str(target)))
    silent = {"Software": None} if ending == ".png" else {"Date": None, "Creator": None}
    drawn = io.BytesIO()
    # the salt fixes the names of an SVG's clip paths and markers, which are random otherwise
    with mpl.rc_context({"svg.hashsalt": "hushfade"}), warnings.catch_warnings():
        # the font may lack letters of a key, and shows boxes: not worth a warning
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure.savefig(drawn, format=ending[1:], dpi=figure.dpi, metadata=silent)
    with whole(target) as beside:
        beside.write_bytes(drawn.getvalue())
