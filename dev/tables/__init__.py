"""Tables and pictures of the documentation, computed: `python -m tables`."""
