# SPDX-License-Identifier: MIT
"""Logs as the tests read them: each line is valid by docs/log.schema.json, and strictly. What other readers pass over, a
field or a kind of record that the schema does not list and a word that it gives no example of, is an error here."""

import copy
import functools
import json
import pathlib
import sys

SYSTEM = "/usr/lib/python3/dist-packages"  # where Debian keeps its packages: another Python does not look there
SCHEMA = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/log.schema.json"


class Invalid(AssertionError):
    """A line that is none of a log."""


def strict(schema):
    """The schema with nothing left open."""
    schema = copy.deepcopy(schema)
    definitions = schema["$defs"]
    for name, definition in definitions.items():
        if name.startswith("record-"):
            definition["additionalProperties"] = False
        if "examples" in definition:
            definition["enum"] = definition.pop("examples")
    schema["properties"]["ev"] = {"enum": [name.removeprefix("record-") for name in definitions if name.startswith("record-")]}
    return schema


@functools.cache
def validator(is_strict=True):
    if SYSTEM not in sys.path:
        sys.path.append(SYSTEM)
    import jsonschema
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(strict(schema) if is_strict else schema)


@functools.cache
def _by_kind(kind):
    """The validator of one kind of record; of an unknown one, the whole."""
    whole = validator()
    if not isinstance(kind, str) or f"record-{kind}" not in whole.schema["$defs"]:
        return whole
    return whole.evolve(schema={"$ref": f"#/$defs/record-{kind}", "$defs": whole.schema["$defs"]})


@functools.cache
def _worded():
    return {name.removeprefix("field-") for name, field in validator().schema["$defs"].items() if {"enum", "const"} & field.keys()}


def _form(name, value):
    """What of a value can make it invalid."""
    if isinstance(value, bool) or value is None or isinstance(value, (float, list, dict)) or name in _worded():
        return repr(value)
    if isinstance(value, int):
        return 0 <= value < 1 << 64
    return type(value)


is_checked = True  # False on a machine with a card, which may have no packages: its logs are of the library tested elsewhere
_seen = set()  # the forms of lines that are known to be valid: thousands of lines have one


def check(record, where="a log"):
    """The record again, or Invalid."""
    if not is_checked:
        return record
    if not isinstance(record, dict):
        raise Invalid(f"{where}: no object: {record!r}")
    kind = record.get("ev")
    form = (repr(kind), *((name, _form(name, value)) for name, value in record.items()))
    if form in _seen:
        return record
    error = next(iter(_by_kind(kind).iter_errors(record)), None) if isinstance(kind, str) else None
    error = error or next(iter(validator().iter_errors(record)), None)
    if error:
        raise Invalid(f"{where}: {'.'.join(map(str, error.path)) or 'the record'}: {error.message} (docs/log.schema.json)\n{json.dumps(record)}")
    _seen.add(form)
    return record


def _whole(pairs):
    record = dict(pairs)
    if len(record) != len(pairs):
        raise Invalid(f"a name stands there twice: {[name for name, _ in pairs]}")
    return record


def parse(text, where="a log"):
    """The records of a log's text."""
    return [check(json.loads(line, object_pairs_hook=_whole), f"{where}, line {number}")
            for number, line in enumerate(text.split("\n")[:-1] if text.endswith("\n") else text.splitlines(), 1)]


def read(path):
    """The records of a log's file; none where there is no file."""
    path = pathlib.Path(path)
    return parse(path.read_text(encoding="utf-8"), path) if path.exists() else []
