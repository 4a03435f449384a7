"""Write the golden vectors, or compare them: `python -m tests.golden [--check]`."""

import sys

from tests.golden import files

if "--check" in sys.argv[1:]:
    differing = list(files.all_differences())
    print("\n".join(differing) or "Nothing differs.")
    sys.exit(1 if differing else 0)
files.write()
