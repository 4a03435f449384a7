"""The live mechanism: ownership of steps, saved states, and ranges of lanes for engines."""
