from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SAYS = "import sys; print('result'); print('warning', file=sys.stderr)"


def test_what_java_says_is_no_result_of_the_command(tmp_path: Path) -> None:
    """Delta Lake prints what a vacuum has deleted."""
    log = tmp_path / "spark.log"
    program = f"""
import subprocess, sys
from pathlib import Path
from pykbroker.lake.spark_log import output_to

print("before")
with output_to(Path({str(log)!r})):
    subprocess.run([sys.executable, "-c", {SAYS!r}], check=True)
print("after")
print("error", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("before\nafter\n", "error\n")
    assert sorted(log.read_text().split()) == ["result", "warning"]
