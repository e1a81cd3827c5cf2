# SPDX-License-Identifier: MIT
# policy-artefact-hashes.py FILE: finds every key of a compiled policy's hash tables as sbx-policy-artefact(7) says.
# Prints how many there are.
import struct
import sys

MASK = (1 << 64) - 1
ADDED = 0xa0761d6478bd642f
SECTIONS_AT, WORDS, INDEX = 192, 11, 12
DISTANCE_MAX = 31


def fold(a, b):
    product = (a & MASK) * (b & MASK)
    return product >> 64 ^ product & MASK


def number(data):
    return int.from_bytes(data, "little")


def hash_of_text(text, seed):
    h, f = 0xd1b54a32d192ed03 + seed * ADDED, 0x9e3779b97f4a7c15 ^ seed * ADDED & MASK
    rest = text
    while len(rest) > 16:
        h = fold(h ^ number(rest[:8]), f)
        rest = rest[8:]
    return fold((h + len(text) & MASK) ^ number(rest[:8]), f ^ number(rest[8:]))


def hash_of_key(kind, length, first, second, seed):
    p = fold((kind << 32 | length) ^ ADDED, 0xe7037ed1a0b428db ^ seed)
    return fold(p ^ first, fold(second ^ seed, 0x8ebc6af09c88c6e3) | 1)


def rows(block, section, size, form):
    at, n = struct.unpack_from("<II", block, SECTIONS_AT + 8 * section)
    return [struct.unpack_from(form, block, at + i * size) for i in range(n)]


def find(slot, hashed, occupied, size):
    """Fails unless all slots from the hash on to this one are occupied."""
    distance = (slot - hashed) % size
    if distance > DISTANCE_MAX or not all(occupied[(hashed + i) % size] for i in range(distance)):
        sys.exit(f"the key in slot {slot} of {size} has the hash {hashed:#x}")


def main():
    with open(sys.argv[1], "rb") as file:
        block = file.read()
    seeds = struct.unpack_from("<3Q", block, 80)
    words, entries = rows(block, WORDS, 16, "<IIQ"), rows(block, INDEX, 32, "<IIQQII")
    texts = rows(block, 0, 1, "<B")
    occupied = [text != 0xffffffff for text, _length, _head in words]
    for slot, (text, length, _head) in enumerate(words):
        if occupied[slot]:
            word = bytes(byte for byte, in texts[text:text + length])
            find(slot, hash_of_text(word, seeds[0]), occupied, len(words))
    filled = [entry[0] != 0 for entry in entries]
    for slot, (kind, length, first, second, _at, _n) in enumerate(entries):
        if filled[slot]:
            find(slot, hash_of_key(kind, length, first, second, seeds[2]), filled, len(entries))
    print(sum(occupied), sum(filled))


if __name__ == "__main__":
    main()
