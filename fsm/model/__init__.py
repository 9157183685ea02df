"""The nouns: what goes in and comes out, and what it is bounded by. They know nothing of how a message is rebuilt.

In: nothing. Out: events, messages, outcomes, errors, limits, metrics, usage, the registry of tools.
"""
