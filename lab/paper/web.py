"""Convert a Markdown page to one self-contained HTML file."""

from __future__ import annotations

import base64
import html
import re
from itertools import pairwise
from pathlib import Path


def web(title: str, text: str, directory: Path) -> str:
    """The Markdown page as one HTML file that embeds its figures and fetches nothing.

    The figures come from the directory.  The second-level headings form the table of contents.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    contents = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag == "h2":
            name = re.sub(r"\W+", "-", inline.content.lower()).strip("-")
            opening.attrSet("id", name)
            contents.append(f'<li><a href="#{name}">{html.escape(inline.content)}</a></li>')
    body = parser.renderer.render(tokens, parser.options, {})
    body = re.sub(
        r'src="(figures/[a-z0-9-]+\.svg)"', lambda found: _inside(directory / found[1]), body
    )
    body = body.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )
    body = re.sub(r"<td>(holds|weak|false)</td>", r'<td class="\1">\1</td>', body)
    navigation = f'<nav aria-label="Contents"><ol>{"".join(contents)}</ol></nav>'
    body = body.replace("</h1>", "</h1>" + navigation, 1)
    return _FRAME.format(title=html.escape(title), body=body)


def _inside(picture: Path) -> str:
    coded = base64.b64encode(picture.read_bytes()).decode("ascii")
    return f'src="data:image/svg+xml;base64,{coded}"'


_FRAME = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 17px/1.55 Georgia, 'Times New Roman', serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1, h2, nav, th {{ font-family: system-ui, sans-serif; }}
h2 {{ margin-top: 3rem; border-top: 1px solid; padding-top: 1rem; }}
nav ol {{ list-style: none; padding: 0; columns: 22rem; font-size: 0.9rem; }}
img {{ max-width: 100%; background: white; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font: 0.8rem/1.4 system-ui, sans-serif; margin: 1rem 0;
  font-variant-numeric: tabular-nums; }}
th, td {{ border-bottom: 1px solid #8886; padding: 0.25rem 0.7rem 0.25rem 0; text-align: left;
  vertical-align: top; min-width: 4rem; max-width: 16rem; }}
td.holds {{ color: #00734f; }} td.weak {{ color: #9a5b00; }} td.false {{ color: #b23a00;
  font-weight: bold; }}
@media (prefers-color-scheme: dark) {{
  td.holds {{ color: #4fd1a5; }} td.weak {{ color: #f0b050; }} td.false {{ color: #ff8a5c; }}
}}
</style>
</head>
<body>
{body}
</body>
</html>
"""
