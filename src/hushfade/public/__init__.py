"""The public half: floats computed from what crossed, and the releases made of them."""
