"""The row view."""

import unittest
from decimal import Decimal
from typing import Any

from gristmill import (
    Boolean,
    ContractError,
    Decimal128,
    Float64,
    Int16,
    Int32,
    Int64,
    LargeUtf8,
    Operation,
    Plan,
    Reject,
    Row,
    RowOutputs,
    RowTransform,
    Setup,
    Stage,
    UInt8,
    Utf8,
)
from gristmill.testing import Harness, Run, Table


class Orders(RowTransform):
    """Writes one row, two rows or none."""

    def plan(self, setup: Setup, plan: Plan) -> None:
        for field in setup.input:
            plan.read(field.name)
        plan.read_lookup(plan.lookup("rates", "currency", "rate"))
        self.records = plan.output("records")
        self.records.forward("id")
        self.records.compute_required("name", Utf8)
        self.records.compute("cents", Int16)
        self.records.compute("price", Decimal128(5, 2))
        self.lines = plan.output("lines")
        self.lines.compute_required("line", UInt8)

    def row(self, row: Row, out: RowOutputs) -> None:
        for line in range(row.require("lines")):
            out.write(self.lines, {"line": line})
        name: str = row.require("name")
        if name == "mixed":
            out.write(self.records, {"name": name}, operation=Operation.UPDATE)
            return
        if name == "crash":
            int(name)
        if name == "refuse":
            raise Reject("refused", "the name asks for it", "name")
        if name == "ask":
            row.require("nome")
        if name == "wrong":
            out.write(self.records, {"nome": name})
        cells: dict[str, Any] = {"name": name.strip(), "cents": row.get("cents")}
        if row["abroad"] and row["rates.rate"] is not None:
            cells["price"] = Decimal(str(row["rates.rate"]))
        operation = Operation.DELETE if name.startswith("drop") else None
        out.write(self.records, cells, operation=operation)


def run(names: list[str | None], cents: list[int | None] | None = None, kind: Any = LargeUtf8) -> Run:
    rows = len(names)
    table = Table.of(
        id=(Int32, range(rows)),
        lines=(UInt8, [2, 1, 0, 1][:rows] + [1] * (rows - 4)),
        abroad=(Boolean, [False, True] * (rows // 2) + [False] * (rows % 2)),
        currency=(Utf8, ["EUR", "USD", "???", None][:rows] + ["EUR"] * (rows - 4)),
        name=(kind, names),
        cents=(Int64, cents or [7] * rows),
    )
    rates = Table.of(currency=(Utf8, ["USD"]), rate=(Float64, [0.5]))
    return Harness(Stage.MAP, dictionaries={"rates": ("currency", rates)}).run(Orders, table)


class RowsTest(unittest.TestCase):
    def test_rows_in_and_out(self) -> None:
        done = run([" ann ", "ben", None, "dan"], [7, None, 1, 40_000])
        self.assertEqual(str(done.output()), "id | name | cents | price\n0 | ann | 7 | null\n1 | ben | null | 0.50\n")
        self.assertEqual(done.reject_codes, [(2, "missing-value", "name"), (3, "out-of-range", "cents")])
        self.assertEqual(done.selections["lines"], [0, 0, 1], "what a rejected row wrote is taken back")
        self.assertEqual(done.output("lines")["line"], [0, 1, 0])

    def test_a_reject_takes_back_what_was_written(self) -> None:
        done = run(["ann", "refuse"])
        self.assertEqual(done.reject_codes, [(1, "refused", "name")])
        self.assertEqual(done.selections, {"records": [0], "lines": [0, 0]})

    def test_cells_of_another_sort(self) -> None:
        class Wrong(Orders):
            def row(self, row: Row, out: RowOutputs) -> None:
                out.write(self.records, {"name": row["id"] or "fine"})

        rates = Table.of(currency=(Utf8, ["USD"]), rate=(Float64, [0.5]))
        table = Table.of(id=(Int32, [0, 1]), currency=(Utf8, ["USD"] * 2))
        done = Harness(Stage.MAP, dictionaries={"rates": ("currency", rates)}).run(Wrong, table)
        self.assertEqual(done.reject_codes, [(1, "wrong-type", "name")])
        self.assertEqual(done.output()["name"], ["fine"])

    def test_operations_are_all_or_none(self) -> None:
        done = run(["drop a", "drop b"])
        self.assertEqual((done.operations["records"], done.rejects), ([2, 2], []))
        done = run(["keep", "mixed"])
        self.assertEqual(done.reject_codes, [(1, "mixed-operations", None)])
        self.assertEqual(done.operations["records"], [0])
        done = run(["drop a", "keep"])
        self.assertEqual(done.reject_codes, [(1, "mixed-operations", None)])
        self.assertEqual(done.operations["records"], [2])

    def test_other_exceptions_are_the_transforms_own(self) -> None:
        with self.assertRaisesRegex(ValueError, "crash"):
            run(["ann", "crash"])

    def test_columns_that_the_plan_does_not_have(self) -> None:
        with self.assertRaisesRegex(ContractError, "^the plan of output `records` computes no column `nome`$"):
            run(["wrong", "ann"])
        with self.assertRaisesRegex(ContractError, "^the plan reads no column `nome`; it reads id, .*, rates.rate$"):
            run(["ask", "ann"])

    def test_cells_are_those_of_the_call(self) -> None:
        class Twice(RowTransform):
            def plan(self, setup: Setup, plan: Plan) -> None:
                self.records = plan.output("records")
                self.records.compute("line", UInt8)

            def row(self, row: Row, out: RowOutputs) -> None:
                cells = {}
                for line in range(2):
                    cells["line"] = line
                    out.write(self.records, cells)

        self.assertEqual(Harness(Stage.NORMALIZE).run(Twice, Table.of(id=(Int32, [5]))).output()["line"], [0, 1])

    def test_a_row_is_a_mapping(self) -> None:
        seen: list[dict[str, Any]] = []

        class Look(RowTransform):
            def plan(self, setup: Setup, plan: Plan) -> None:
                plan.read("id")
                plan.read_operation()
                plan.output("records")

            def row(self, row: Row, out: RowOutputs) -> None:
                seen.append({**row, "index": row.index, "length": len(row)})

        done = Harness(Stage.NORMALIZE).run(Look, Table.of(id=(Int32, [5, None])), [0, 2])
        self.assertEqual(seen[0], {"id": 5, "operation": 0, "index": 0, "length": 2})
        self.assertEqual(seen[1], {"id": None, "operation": 2, "index": 1, "length": 2})
        self.assertEqual(done.output().rows, 0)
