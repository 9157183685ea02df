"""From the normalized alphabet to a message: which case of an event holds, what is done to blocks and calls, what the end makes of them.

In: normalized events. Out: events for the caller, and a message or a partial. Nothing here knows a vendor's wire.
"""
