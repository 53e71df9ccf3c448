"""A new project passes its tests at once."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).parents[1]


class TemplateTest(unittest.TestCase):
    def test_a_new_project_passes_its_tests(self) -> None:
        for stage in ("normalize", "map"):
            with self.subTest(stage), tempfile.TemporaryDirectory() as folder:
                project = Path(folder) / "orders"
                shutil.copytree(SDK / "template", project)
                for path in project.rglob("*.*"):
                    if path.is_file() and path.suffix != ".pyc":
                        text = path.read_text()
                        for name, value in [("name", "orders"), ("version", "0.1.0"), ("stage", stage)]:
                            text = text.replace("{{" + name + "}}", value)
                        path.write_text(text)
                        self.assertNotIn("{{", text, path.name)
                without = shutil.ignore_patterns("tests", "template", "__pycache__")
                shutil.copytree(SDK, project / "vendor/gristmill", ignore=without)
                run = subprocess.run(
                    [sys.executable, "-m", "unittest"], cwd=project, capture_output=True, text=True, check=False
                )
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn("Ran 1 test", run.stderr)
