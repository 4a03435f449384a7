"""Speed and accuracy, measured as ratios within one run: `make bench`."""
