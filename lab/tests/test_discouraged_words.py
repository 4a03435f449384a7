"""The lint check for prose finds what it should, and nothing else."""

from lab.discouraged_words import DISCOURAGED, findings


def phrases(text, ending):
    return [finding.phrase for finding in findings(text, ending)]


def test_markdown_is_checked_outside_of_code():
    text = "A page told us.\n```python\ntold = 1\n```\nSo `told` is code, and so\nmany is not.\n"
    assert phrases(text, ".md") == ["told", "so many"]
    assert [finding.line for finding in findings(text, ".md")] == [1, 5]


def test_docstrings_comments_and_messages_are_checked_in_python_but_names_are_not():
    text = '"""What it tells."""\ntold = f"{x} beside {y}"  # anew\n'
    assert phrases(text, ".py") == ["tells", "beside", "anew"]


def test_lines_of_doctests_are_code():
    assert phrases('"""A name.\n\n    >>> told = 1\n"""\n', ".py") == []


def test_pages_and_scripts_are_checked():
    assert phrases("<p>How it goes by the clock</p><told>", ".html") == ["goes by"]
    assert phrases('let told = "a step and key"; // beside\n', ".js") == [
        "a step and key",
        "beside",
    ]
    assert phrases("told = 1  # those of\n", ".toml") == ["those of"]


def test_exceptions_are_fine():
    assert phrases("A number such as 3, such that it is whole, besides others.", ".md") == []


def test_every_phrase_has_a_remedy():
    assert all(remedy for remedy in DISCOURAGED.values())
