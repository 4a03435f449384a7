"""The private half: records become integers on a grid, and the product R x stays in integers."""
