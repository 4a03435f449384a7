import json

import numpy as np

from hushfade.serve import json_pieces

CASES = [
    None, 1, "é\u2028", [], {}, [1.5], {"a": {}}, {"a": [], "b": None},
    list(range(10_000)), [[1, 2, None]] * 5000, [["x"] * 3000] * 3,
    {"keys": [f"k{n}" for n in range(5000)], "value": np.linspace(-1, 1, 7001).tolist()},
]  # fmt: skip


def test_the_parts_of_a_text_are_the_text():
    for case in CASES:
        parts = list(json_pieces.texts(case))
        assert "".join(parts) == json_pieces.dumps(case)
        assert json.loads("".join(parts)) == case


def test_no_part_and_no_piece_is_large():
    for case in CASES:
        parts = list(json_pieces.texts(case))
        assert max(map(len, parts)) < 2 * json_pieces.PIECE
        pieces = list(json_pieces.gathered(parts))
        assert b"".join(pieces) == "".join(parts).encode()
        assert max(map(len, pieces)) <= 2 * json_pieces.PIECE
    assert list(json_pieces.gathered([])) == []


def test_a_control_that_encodes_at_once_has_one_large_part():
    assert len(json_pieces.dumps(np.linspace(-1, 1, 100_000).tolist())) > 10 * json_pieces.PIECE


def test_a_column_of_numbers_is_like_a_list():
    for size in (0, 1, 2048, 2049, 10_000):
        column = np.linspace(-1, 1, size)
        assert "".join(json_pieces.texts({"a": column})) == json_pieces.dumps(
            {"a": column.tolist()}
        )


def test_numbers_that_json_lacks_are_refused():
    for case in ([float("nan")] * 5000, {"a": float("inf")}):
        try:
            "".join(json_pieces.texts(case))
        except ValueError:
            continue
        raise AssertionError(case)
