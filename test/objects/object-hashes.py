"""Computes the hashes of objects, from their description in docs/objects.md alone.

Reads objects as JSON, one a line. Prints for each its id and three hashes as JSON, one a line:
    gsv object get ID --json | jq -c . | python3 object-hashes.py
"""

import hashlib
import json
import math
import re
import sys

HASHES = ("content_hash", "metadata_view_hash", "object_hash")
VIEWS = {
    "file": ("id", "type", "path", "file_type", "char_count", "nickname"),
    "toolcall": ("id", "type", "tool", "args_display", "status"),
    "chat": ("id", "type", "session_ref", "turn_count"),
    "system_prompt": ("id", "type", "chat_ref"),
    "session": (),
}


def sha256(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def well_formed(text):
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def number(value):
    """As ECMAScript writes a number: RFC 8785, 3.2.2.3."""
    value = float(value)
    if not math.isfinite(value):
        raise ValueError("not a JSON number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0") or "0"
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = point - 1
    tail = f"e{'+' if power > 0 else '-'}{abs(power)}"
    return sign + digits[0] + ("." + digits[1:] if count > 1 else "") + tail


def text(value):
    """As ECMAScript writes a string: RFC 8785, 3.2.2.2."""
    return json.dumps(well_formed(value), ensure_ascii=False)


def canonical(value):
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(one) for one in value) + "]"
    # Names are compared by their UTF-16 units: RFC 8785, 3.2.3.
    named = sorted(((well_formed(name), one) for name, one in value.items()), key=lambda at: at[0].encode("utf-16-be"))
    return "{" + ",".join(f"{text(name)}:{canonical(one)}" for name, one in named) + "}"


def field(value):
    if value is None:
        return ""
    return number(value) if isinstance(value, (int, float)) else value


def hashes(memory_object):
    view = VIEWS[memory_object["type"]]
    hashed = {name: value for name, value in memory_object.items() if name not in HASHES and name != "at"}
    return {
        "id": memory_object["id"],
        "content_hash": sha256(well_formed(memory_object["content"] or "")),
        "metadata_view_hash": sha256(well_formed("|".join(field(memory_object.get(name)) for name in view))),
        "object_hash": sha256(canonical(hashed)),
    }


if __name__ == "__main__":
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(hashes(json.loads(line)), ensure_ascii=False))
