"""From a message to the history of the next request: one writer for each vendor (`writers`), chosen by `request`.

In: a message. Out: what that vendor's API accepts, and in words what it does not. Nothing here knows how the message was built.
"""
