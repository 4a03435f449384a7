"""The laws of the noise, each with exact probabilities on the integers."""
