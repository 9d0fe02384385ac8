"""Mutated files: damaged bytes, and forgeries with a correct checksum."""

import json
import struct
from copy import deepcopy

import numpy as np
from safetensors.numpy import save as to_safetensors

from undistract.storage.container import FORMAT, digest_of

UNFITTED = {"settings": {}, "fields": None}
ODD = (
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, 10**40, 0.5, -0.5, 1e308, -1e308, 5e-324),
    *("", "a", "uniform", "eigen", "oblique", "orthogonal", "all", "\ud800"),
    *([], [[]], [[1, 2]], {}),
    *({"type": "tuple", "items": items} for items in ([], [1, 1])),
    *({"type": "float", "value": value} for value in ("nan", "inf")),
    *({"type": kind, **UNFITTED} for kind in ("Focus", "NearestDetector")),
    {"type": "mapping", "items": [[[], 1]]},
    {"type": "time", "value": "2024"},
    {"type": "datetime64", "value": "NaT"},
    {"type": "datetime64", "value": "now"},
    {"type": "array"},
    {"type": "os.system", "value": "true"},
)
DTYPES = ("bool", "u1", "i1", "i4", "i8", "f2", "f4", "f8")
VALUES = (0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-308, 1e150, np.nan, np.inf, 2.0**63)


def damaged(data, rng):
    """Change random bytes: in the length, in the header, in the numbers."""
    original = bytes(data)
    while bytes(data) == original:  # zeros may overwrite zeros
        data = _damage(bytearray(original), rng)
    return bytes(data)


def _damage(data, rng):
    for _ in range(rng.integers(1, 4)):
        # Half of the damage hits the header, which is the smaller part.
        end = len(data) if rng.random() < 0.5 else min(len(data), 8 + int.from_bytes(data[:8], "little") % 2**20)
        start, size = int(rng.integers(max(end, 1))), int(rng.integers(1, 40))
        match rng.integers(7):
            case 0:
                data[start : start + 1] = bytes([data[start] ^ (1 << int(rng.integers(8)))]) if data else b""
            case 1:
                data[start : start + size] = rng.bytes(size)
            case 2:
                del data[start : start + size]
            case 3:
                data[start:start] = rng.bytes(size)
            case 4:
                del data[start:]
            case 5:
                data[start : start + size] = data[-size:]
            case 6:
                data[:8] = struct.pack("<Q", int(rng.choice([0, 1, len(data), 2**24, 2**40, 2**63])))
    return data


def forged(header, arrays, rng):
    """Change the header or an array, and recompute the checksum."""
    header, arrays = json.loads(json.dumps(header)), dict(arrays)
    for _ in range(rng.integers(1, 3)):
        _change_array(arrays, rng) if arrays and rng.random() < 0.5 else _change_header(header, rng)
    signed = {**header, "sha256": digest_of(header, arrays)}
    if rng.random() < 0.02:
        signed["sha256"] = ODD[rng.integers(len(ODD))]
    return to_safetensors(arrays, metadata={FORMAT: json.dumps(signed)})


def _change_header(header, rng):
    positions = list(_positions(header))
    holder, key = positions[rng.integers(len(positions))]
    other, other_key = positions[rng.integers(len(positions))]
    match rng.integers(5):
        case 0 | 1:
            # Copy, because a later change must not modify ODD itself.
            holder[key] = deepcopy(ODD[rng.integers(len(ODD))])
        case 2:
            del holder[key]
        case 3:
            holder[key] = json.loads(json.dumps(other[other_key]))
        case 4:
            if isinstance(holder[key], int | float):
                holder[key] = type(holder[key])(holder[key] + int(rng.integers(-3, 4)))
            else:
                holder[key] = [holder[key]]


def _positions(node):
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _positions(node[key])


def _change_array(arrays, rng):
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    match rng.integers(7):
        case 0 | 1:
            if array.size:
                with np.errstate(all="ignore"):
                    array.flat[rng.integers(array.size)] = np.array(VALUES[rng.integers(len(VALUES))]).astype(
                        array.dtype
                    )
        case 2:
            with np.errstate(all="ignore"):
                array = array.astype(DTYPES[rng.integers(len(DTYPES))])
        case 3:
            array = array.reshape(-1) if array.ndim != 1 else array[:, None]
        case 4:
            array = np.ascontiguousarray(array[:-1] if array.ndim and len(array) else array)
        case 5:
            array = np.zeros((*array.shape[:-1], 0), dtype=array.dtype)
        case 6:
            array = np.ascontiguousarray(np.roll(array, 1).T)
    arrays[name] = array
    if rng.random() < 0.05:
        del arrays[name]
