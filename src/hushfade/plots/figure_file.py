"""A picture on disk: PNG or SVG, whole or not at all, the same bytes for the same picture."""

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
    """Nothing; the figure stands at the path, as PNG or SVG by the path's ending.

    Drawn in memory, written beside the path under another name, then put in its place: a reader
    sees the old file or the new one.  Neither date nor version is written, so the same figure
    gives the same bytes with the same matplotlib.
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
    # the salt names an SVG's clip paths and markers, which would be random without it
    with mpl.rc_context({"svg.hashsalt": "hushfade"}), warnings.catch_warnings():
        # a key in letters that the font lacks is drawn as boxes: no reason to talk on stderr
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure.savefig(drawn, format=ending[1:], dpi=figure.dpi, metadata=silent)
    with whole(target) as beside:
        beside.write_bytes(drawn.getvalue())
