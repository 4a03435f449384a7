"""The computed tables and pictures of the documentation: `make tables`, `python -m lab.tables`."""
