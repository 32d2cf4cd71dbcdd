"""Checks a value against a JSON schema: the part of it that ours use.

What it does not know is an error, so that a schema cannot say more than is
checked.
"""

import re

KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "const",
         "enum", "properties", "propertyNames", "patternProperties", "additionalProperties",
         "required", "items", "minItems", "maxItems", "minimum",
         "maximum", "pattern", "anyOf", "default"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "integer": int, "number": (int, float)}


def _typed(value, name):
    if isinstance(name, list):
        return any(_typed(value, one) for one in name)
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def _object(value, schema, root, where):
    missing = set(schema.get("required", ())) - set(value)
    assert not missing, f"{where}: without {sorted(missing)}"
    for key, member in value.items():
        check(key, schema.get("propertyNames", {}), root, where)
        found = [schema["properties"][key]] \
            if key in schema.get("properties", {}) else []
        found += [s for pattern, s in schema.get("patternProperties",
                                                 {}).items()
                  if re.search(pattern, key)]
        if not found and isinstance(schema.get("additionalProperties"), dict):
            found = [schema["additionalProperties"]]
        assert found or schema.get("additionalProperties", True), \
            f"{where}.{key}: is not in the schema"
        for one in found:
            check(member, one, root, f"{where}.{key}")


def _any(value, schemas, root, where):
    failures = []
    for one in schemas:
        try:
            return check(value, one, root, where)
        except AssertionError as failure:
            failures.append(str(failure))
    raise AssertionError(f"{where}: {value!r} is none of {failures}")


def check(value, schema, root=None, where="run"):
    """AssertionError, with the place, unless value is what schema says."""
    root = root or schema
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root,
              where)
    if "type" in schema:
        assert _typed(value, schema["type"]), f"{where}: {value!r}"
    if "const" in schema:
        assert value == schema["const"], f"{where}: {value!r}"
    if "enum" in schema:
        assert value in schema["enum"], f"{where}: {value!r}"
    if "minimum" in schema:
        assert value >= schema["minimum"], f"{where}: {value!r}"
    if "maximum" in schema:
        assert value <= schema["maximum"], f"{where}: {value!r}"
    if "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{where}: {value!r}"
    if "anyOf" in schema:
        _any(value, schema["anyOf"], root, where)
    if isinstance(value, dict):
        _object(value, schema, root, where)
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) \
            <= schema.get("maxItems", len(value)), where
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), root, f"{where}[{i}]")
