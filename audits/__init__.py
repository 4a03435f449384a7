"""Privacy and noise, measured at length on the code as it stands: `make audit`."""
