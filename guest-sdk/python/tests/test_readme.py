"""What the README shows works as it stands."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).parents[1]
SKIPPED = re.compile(r"```python\n")
BLOCK = re.compile(r"```python file=(\S+)\n(.*?)```", re.DOTALL)

ROWS = """
from gristmill import Int64, Stage, Utf8
from gristmill.testing import Harness, Table
from transform import {name}
table = Table.of({columns})
run = Harness(Stage.NORMALIZE).run({name}, table)
print(run.output(), run.reject_codes)
"""


class ReadmeTest(unittest.TestCase):
    def setUp(self) -> None:
        text = (SDK / "README.md").read_text()
        self.assertIsNone(SKIPPED.search(text), "a block of Python that no test runs")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, code in BLOCK.findall(text):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(code)

    def run_python(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(SDK)}
        return subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    def test_the_complete_transform(self) -> None:
        run = self.run_python(self.folder, "-m", "unittest", "-v", "test_transform")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Ran 1 test", run.stderr)

    def test_row_by_row(self) -> None:
        code = ROWS.format(name="Trim", columns="name=(Utf8, [' ann', None]), quantity=(Int64, [25, 1])")
        run = self.run_python(self.folder / "rows", "-c", code)
        self.assertEqual(run.stdout, "name | dozens\nann | 2\n [(1, 'missing-value', 'name')]\n", run.stderr)

    def test_whole_columns(self) -> None:
        columns = "code=(Utf8, ['AT', 'B', None]), count=(Int64, [1, 2**63 - 1, None])"
        run = self.run_python(self.folder / "columns", "-c", ROWS.format(name="Fast", columns=columns))
        self.assertEqual(run.stdout, "code | next\nat | 2\nnull | null\n [(1, 'overflow', 'count')]\n", run.stderr)
