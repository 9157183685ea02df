"""JSON values, and the text of a call's arguments: measured, compared, written, read and repaired.

In: text and values. Out: values, or why there is none. Nothing here knows of blocks or streams.
"""
