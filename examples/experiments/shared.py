"""What the experiments take from the demonstration, and paths.

The demonstration runs the same service behind the same Tailor under the same
load generator; its modules are used as they are.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QUERIES = ROOT / "examples" / "lucene" / "queries.txt"
sys.path.insert(0, str(ROOT / "examples" / "demo"))

# pylint: disable=wrong-import-position,unused-import
import capacity  # noqa: E402,F401
import web  # noqa: E402,F401
from appliance import Appliance, merged  # noqa: E402,F401
from heating import RATE, Pauses, all_at_once  # noqa: E402,F401
from load import Generator, write_targets  # noqa: E402,F401
from processes import (Process, Trouble, adopt_orphans,  # noqa: E402,F401
                       descendants, end_all, wait_until)
from service import (JVM, KeptServer, Recipe, java,  # noqa: E402,F401
                     lucene_jars)
