"""Errors keep argument, rule and value apart: nobody has to cut a message into pieces."""

import ast
import pickle
from pathlib import Path

import hushfade
from hushfade import errors

SOURCES = Path(hushfade.__file__).parent
CLASSES = {name for name, kind in vars(errors).items() if isinstance(kind, type)}


def test_a_message_names_argument_rule_value_and_remedy():
    error = errors.InvalidValue("must be > 1", argument="alpha", got=1.0, remedy="use NoDecay()")
    assert str(error) == "alpha must be > 1, got 1.0: use NoDecay()"
    assert error.rule == "alpha must be > 1"
    assert str(errors.Refused("the state is old")) == "the state is old"
    assert errors.Refused("the state is old").rule == "the state is old"


def test_an_error_can_be_about_another_name():
    error = errors.Diverges("must be given", argument="horizon", got=None)
    renamed = error.about("--horizon")
    assert type(renamed) is errors.Diverges
    assert str(renamed) == "--horizon must be given"


def test_an_error_survives_a_pickle():
    error = errors.InvalidType("must be a number", argument="power", got="'x'", remedy="give 1")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_no_message_contains_its_value():
    """The service shows `rule`: a value inside the message would be sent back to the client."""
    raised = 0
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id not in CLASSES:
                continue
            raised += 1
            texts = [
                part.value
                for argument in node.args
                for part in ast.walk(argument)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            where = f"{path.relative_to(SOURCES)}:{node.lineno}"
            assert not any(", got " in text for text in texts), f"{where}: use got="
    assert raised > 400  # the search finds them
