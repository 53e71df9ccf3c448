"""What stands between a project and the contract's exports, run as in a component but natively."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).parents[1]

PROJECT = """
import json, os, sys, time
from gristmill import *

TABLE = open(__file__).read()

@export
class Named(Transform):
    def plan(self, setup, plan):
        self.mode = setup.config.get("mode")
        if self.mode == "plan":
            raise ValueError("said aloud")
        self.id = plan.read("id", Int64)
        self.records = plan.output("records")
        self.out = self.records.compute("out", Int64)

    def process(self, batch, outputs):
        print("to nobody")
        match self.mode:
            case "values": int("secret")
            case "raises": raise ValueError("asked to raise")
            case "library": json.loads("secret")
            case "failure": raise Failure("no-good", "said aloud" * 1000)
            case "clock": time.time()
            case "file": open("/etc/hostname")
            case "random": os.urandom(1)
            case "exit": sys.exit(3)
            case "deep": (endless := lambda: endless())()
            case "unset": return
        outputs.set(self.out, batch[self.id])
"""

CALL = """
import json, sys
sys.path[:0] = [{sdk!r}, {sdk!r} + "/bindings"]
from gristmill.contract import wit
import gristmill.component as component

def call(mode):
    tree = [wit.Field("id", wit.DataType_Int64(), True, 0)]
    setup = wit.Setup(wit.Stage.NORMALIZE, json.dumps({{"mode": mode}}), tree, [])
    batch = wit.Batch(1, wit.Columns([wit.Node(1, 0)], [b"", bytes(8)]))
    try:
        component.Transform().plan(setup)
        return str(component.Transform().process(setup, batch).outputs[0].columns.buffers)
    except component.Err as error:
        return f"{{error.value.code}} {{error.value.message}}"

out = {{mode: call(mode) for mode in sys.argv[1:]}}
import os
os.write(1, json.dumps(out).encode())
"""


class ComponentTest(unittest.TestCase):
    def run_modes(self, project: str, *modes: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "transform.py").write_text(project)
            command = [sys.executable, "-c", CALL.format(sdk=str(SDK)), *modes]
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    def test_what_leaves_a_component(self) -> None:
        expected = {
            "fine": "[b'', b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00']",
            "plan": "exception ValueError at transform.py:12 in plan: said aloud",
            "values": "exception ValueError at transform.py:20 in process",
            "raises": "exception ValueError at transform.py:21 in process: asked to raise",
            "clock": "exception SealedError at transform.py:24 in process: time.time: a transform has no clock",
            "file": "exception SealedError at transform.py:25 in process: open: a transform has no files",
            "random": "exception SealedError at transform.py:26 in process: os.urandom: "
            "a transform has no random numbers",
            "exit": "exception SystemExit at transform.py:27 in process",
            "deep": "exception RecursionError at transform.py:28 in <lambda>",
        }
        run = self.run_modes(PROJECT, *expected, "unset", "failure", "library")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "")
        answers = json.loads(run.stdout)
        for mode, answer in expected.items():
            self.assertEqual(answers[mode], answer)
        self.assertEqual(answers["library"], "exception JSONDecodeError at transform.py:22 in process")
        self.assertRegex(answers["unset"], "^exception ContractError.*column `out` of output `records` was not set$")
        self.assertTrue(answers["failure"].startswith("no-good said aloud"))
        self.assertEqual(len(answers["failure"]), len("no-good ") + 1000, "messages are bounded")

    def test_one_class_is_exported(self) -> None:
        for project, count in [("import gristmill", 0), (PROJECT + "\n\nexport(type('B', (Named,), {}))", 2)]:
            run = self.run_modes(project, "fine")
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(f"transform.py has {count} classes with @export, not one", run.stderr)
