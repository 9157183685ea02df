"""Halves of surrogate pairs, which JSON escapes can smuggle into a text and UTF-8 cannot write."""

from __future__ import annotations


def mend(text: str) -> str:
    """`text` with split surrogate pairs joined and lone halves replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text  # the usual case, at a fraction of the cost
