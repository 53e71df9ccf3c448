"""The committed copies are those of the contract."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).parents[1]
CONTRACT = SDK.parents[1] / "wit" / "transform.wit"
TOOLS = Path(os.environ.get("GRISTMILL_TOOLS", Path.home() / ".cache/gristmill/tools"))
TOOL = TOOLS / "python-0.25.1/bin/componentize-py"


class BindingsTest(unittest.TestCase):
    def test_the_contract_is_the_repositorys(self) -> None:
        self.assertEqual((SDK / "wit/transform.wit").read_text(), CONTRACT.read_text())

    @unittest.skipUnless(TOOL.exists(), "setup.sh has not been run")
    def test_the_bindings_are_the_contracts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [TOOL, "--quiet", "--wit-path", SDK / "wit", "--world", "transformer", "bindings", folder]
            subprocess.run(command, check=True)
            committed = [path.relative_to(SDK / "bindings") for path in (SDK / "bindings").rglob("*.py")]
            self.assertIn(Path("wit_world/imports/types.py"), committed)
            for path in committed:
                self.assertEqual((SDK / "bindings" / path).read_text(), (Path(folder) / path).read_text(), path)
