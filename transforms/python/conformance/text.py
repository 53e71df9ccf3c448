"""What two stages do to texts."""

from itertools import repeat

from gristmill import TextColumn, Utf8


def fold(column: TextColumn) -> TextColumn:
    """Without spaces at both ends and with small letters, in ASCII alone."""
    lower = column.with_data(column.data.lower())
    if b" " not in lower.data:
        return lower
    pieces = list(map(bytes.strip, lower.pieces(), repeat(b" ")))
    return Utf8().from_pieces(pieces, column.mask())
