"""What two stages do to texts."""

from itertools import repeat

from gristmill import TextColumn, Utf8


def fold(column: TextColumn) -> TextColumn:
    """Without spaces at both ends and with small letters, in ASCII alone."""
    return Utf8().from_pieces(folded(column), column.mask())


def folded(column: TextColumn) -> list[bytes]:
    """The same as the bytes of each text; anything where it is null."""
    lower = column.with_data(column.data.lower())
    return list(map(bytes.strip, lower.pieces(), repeat(b" ")))
