"""Write the golden vectors, or compare them: `python -m tests.golden [--check]`."""

import sys

from tests.golden import files

if "--check" in sys.argv[1:]:
    found = list(files.all_differences())
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
files.write()
