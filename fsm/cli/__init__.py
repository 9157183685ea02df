"""The command `deltafsm`: one file for each thing that it shows. Nothing here decides anything about a message."""
