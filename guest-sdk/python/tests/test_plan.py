"""Plans, and what is refused."""

import unittest
from collections.abc import Callable
from typing import Any

from gristmill import (
    Batch,
    Column,
    ContractError,
    Decimal128,
    Failure,
    FixedColumn,
    Float64,
    Int64,
    Operation,
    Outputs,
    Plan,
    Reject,
    Setup,
    Stage,
    Transform,
    Utf8,
    native,
)
from gristmill.contract import wit
from gristmill.testing import Harness, Table
from gristmill.testing.check import BrokenContract

Planner = Callable[[Any, Setup, Plan], None]
Worker = Callable[[Any, Batch, Outputs], None]


def made(plan: Planner, process: Worker = lambda self, batch, outputs: None) -> type[Transform]:
    return type("Made", (Transform,), {"plan": plan, "process": process})


def table() -> Table:
    return Table.of(id=(Int64, [1, 2, 3]), name=(Utf8, ["a", None, "c"]), price=(Decimal128(9, 2), [1, 2, None]))


def harness(stage: Stage = Stage.NORMALIZE) -> Harness:
    names = Table.of(code=(Utf8, ["a", "b", None]), title=(Utf8, ["Ann", "Ben", "Nobody"]))
    return Harness(stage, {"known": 1}, {"names": ("code", names)})


class PlanTest(unittest.TestCase):
    def test_what_crosses(self) -> None:
        def plan(self: Any, setup: Setup, plan: Plan) -> None:
            title = plan.lookup("names", "name", "title")
            self.first = plan.read_lookup(title, Utf8)
            assert plan.lookup("names", "name", "title") == title
            assert plan.read_lookup(title) == self.first
            plan.read("id", Int64)
            plan.read("price", Decimal128)
            plan.read_operation()
            records = plan.output("records")
            records.forward("id", "number")
            records.compute_required("total", Decimal128(9, 2))
            records.forward_lookup("title", title)
            records.forward_operation("operation")

        planned = native.plan(made(plan), harness().setup(table()))
        self.assertEqual(
            planned,
            wit.Plan(
                [
                    wit.ColumnSource_Lookup(0),
                    wit.ColumnSource_Input("id"),
                    wit.ColumnSource_Input("price"),
                    wit.ColumnSource_Operation(),
                ],
                [wit.Lookup("names", "name", "title")],
                [
                    wit.OutputPlan(
                        "records",
                        [
                            wit.OutputColumn_Forwarded(wit.ForwardedColumn("number", wit.ColumnSource_Input("id"))),
                            wit.OutputColumn_Computed(
                                [wit.Field("total", wit.DataType_Decimal128(wit.DecimalType(9, 2)), False, 0)]
                            ),
                            wit.OutputColumn_Forwarded(wit.ForwardedColumn("title", wit.ColumnSource_Lookup(0))),
                            wit.OutputColumn_Forwarded(wit.ForwardedColumn("operation", wit.ColumnSource_Operation())),
                        ],
                    )
                ],
            ),
        )

    def test_refusals(self) -> None:
        def twice(setup: Setup, plan: Plan) -> None:
            output = plan.output("records")
            output.forward("id")
            output.compute("id", Int64)

        refusals: list[tuple[str, Callable[[Setup, Plan], Any]]] = [
            ("missing-column", lambda setup, plan: plan.read("nome")),
            ("missing-column", lambda setup, plan: plan.output("records").forward("nome")),
            ("wrong-type", lambda setup, plan: plan.read("name", Int64)),
            ("wrong-type", lambda setup, plan: plan.read("price", Decimal128(9, 3))),
            ("wrong-type", lambda setup, plan: plan.require("price", Decimal128(9, 3))),
            ("missing-column", lambda setup, plan: plan.require("nome", Utf8)),
            ("wrong-type", lambda setup, plan: plan.read_lookup(plan.lookup("names", "name", "title"), Float64)),
            ("missing-dictionary", lambda setup, plan: plan.lookup("nomes", "name", "title")),
            ("missing-column", lambda setup, plan: plan.lookup("names", "name", "titel")),
            ("missing-column", lambda setup, plan: plan.lookup("names", "nome", "title")),
            ("wrong-stage", lambda setup, plan: setup.require_stage(Stage.MAP, Stage.MIGRATE)),
            ("bad-config", lambda setup, plan: setup.require_keys("other")),
            ("duplicate-column", twice),
        ]
        for code, refuse in refusals:
            transform = made(lambda self, setup, plan, refuse=refuse: refuse(setup, plan))
            with self.subTest(code), self.assertRaises(Failure) as raised:
                harness().run(transform, table())
            self.assertEqual(raised.exception.code, code)

    def test_what_is_accepted(self) -> None:
        def plan(self: Any, setup: Setup, plan: Plan) -> None:
            setup.require_stage(Stage.NORMALIZE)
            setup.require_keys("known", "other")
            plan.require("id", Int64)
            plan.output("records").forward("id")

        self.assertEqual(harness().run(made(plan), table()).output()["id"], [1, 2, 3])


class CallTest(unittest.TestCase):
    def run_with(self, process: Worker, required: bool = False, stage: Stage = Stage.NORMALIZE) -> Any:
        def plan(self: Any, setup: Setup, plan: Plan) -> None:
            self.id = plan.read("id", Int64)
            self.operation = plan.read_operation()
            self.title = plan.read_lookup(plan.lookup("names", "name", "title"))
            self.records = plan.output("records")
            self.records.forward("name")
            self.out = (self.records.compute_required if required else self.records.compute)("out", Int64)

        return harness(stage).run(made(plan, process), table(), [0, 1, 2])

    def test_rows_operations_and_messages(self) -> None:
        def process(self: Any, batch: Batch, outputs: Outputs) -> None:
            column: FixedColumn = batch[self.operation]
            title: Column = batch[self.title]
            assert (column.to_list(), title.to_list()) == ([0, 1, 2], ["Ann", None, None])
            outputs.set(self.out, [7, None, 8, 9])
            outputs.select(self.records, [2, 0, 0, 1])
            outputs.operations(self.records, [Operation.DELETE, 0, 1, 0])
            outputs.message("done")

        run = self.run_with(process)
        self.assertEqual(str(run.output()), "name | out\nc | 7\na | null\na | 8\nnull | 9\n")
        self.assertEqual((run.selections["records"], run.operations["records"]), ([2, 0, 0, 1], [2, 0, 1, 0]))
        self.assertEqual(run.messages, ["done"])

    def test_all_rows_in_place_need_no_selection(self) -> None:
        def process(self: Any, batch: Batch, outputs: Outputs) -> None:
            outputs.set(self.out, batch[self.id])
            outputs.select(self.records, range(batch.rows))
            assert outputs.to_contract().outputs[0].selection is None
            outputs.select_mask(self.records, b"\x01\x01\x01")
            assert outputs.to_contract().outputs[0].selection is None

        self.assertEqual(self.run_with(process).operations["records"], [0, 1, 2])

    def test_mistakes_are_named(self) -> None:
        mistakes: list[tuple[str, bool, Worker]] = [
            ("was not set", False, lambda self, batch, outputs: None),
            ("has 2 values for 3 rows", False, lambda self, batch, outputs: outputs.set(self.out, [1, 2])),
            ("holds nulls", True, lambda self, batch, outputs: outputs.set(self.out, [1, None, 2])),
            ("was set to utf8", False, lambda self, batch, outputs: outputs.set(self.out, Utf8().of(["1", "2", "3"]))),
            (
                "1 operations for 3 rows",
                False,
                lambda self, batch, outputs: (
                    outputs.set(self.out, batch[self.id]),
                    outputs.operations(self.records, [1]),
                ),
            ),
        ]
        for problem, required, process in mistakes:
            with self.subTest(problem), self.assertRaisesRegex(ContractError, problem):
                self.run_with(process, required)

    def test_a_rejected_row_is_left_out_but_for_map(self) -> None:
        def process(self: Any, batch: Batch, outputs: Outputs) -> None:
            outputs.set(self.out, batch[self.id])
            outputs.reject(2, Reject("second", "no", "id"))
            outputs.reject(1, Reject("first", "no"))
            outputs.reject(2, Reject("third", "no"))

        with self.assertRaisesRegex(BrokenContract, "selects a rejected row"):
            self.run_with(process)
        run = self.run_with(process, stage=Stage.MAP)
        self.assertEqual(run.reject_codes, [(1, "first", None), (2, "second", "id")])

    def test_rows_beyond_the_input(self) -> None:
        def selects(self: Any, batch: Batch, outputs: Outputs) -> None:
            outputs.set(self.out, [1])
            outputs.select(self.records, [3])

        def rejects(self: Any, batch: Batch, outputs: Outputs) -> None:
            outputs.set(self.out, [1, 2, 3])
            outputs.reject(3, Reject("no", "no"))

        for process in (selects, rejects):
            with self.assertRaises(BrokenContract):
                self.run_with(process)

    def test_a_plan_that_changes_is_found(self) -> None:
        calls: list[int] = []

        def plan(self: Any, setup: Setup, plan: Plan) -> None:
            calls.append(1)
            plan.output(f"records{len(calls)}")

        with self.assertRaisesRegex(BrokenContract, "two plans"):
            harness().run(made(plan), table())
