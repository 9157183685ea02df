"""From bytes to wire events: lines of server-sent events, a JSON array, AWS event-stream messages.

In: bytes, cut anywhere. Out: frames (name, data, offset). No JSON is read here.
"""
