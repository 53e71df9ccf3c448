"""Drops the custom sections of a WebAssembly module that only debuggers read: python3 strip.py MODULE.wasm"""

import sys


def leb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def strip(module):
    kept, at = [module[:8]], 8
    while at < len(module):
        start = at
        size, body = leb(module, at + 1)
        at = body + size
        if module[start] == 0:
            length, name = leb(module, body)
            if module[name : name + length].startswith((b".debug_", b"producers", b"target_features")):
                continue
        kept.append(module[start:at])
    return b"".join(kept)


path = sys.argv[1]
with open(path, "rb") as file:
    stripped = strip(file.read())
with open(path, "wb") as file:
    file.write(stripped)
