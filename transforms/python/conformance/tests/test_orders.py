"""Stages map and migrate."""

import unittest
from typing import Any

from gristmill import Failure, Int32, Int64, Stage, Utf8, list_of
from gristmill.testing import Harness, Run, Table

from transform import Conformance

CODES = Table.of(code=(Utf8, ["AT"]), name=(Utf8, ["Austria"]), weight=(Int64, [9]))


def run(**columns: Any) -> Run:
    table = {
        "id": (Int64, [10, 11, 12, 13, 14]),
        "code": (Utf8, ["AT", "XX", None, "AT", "AT"]),
        "tags": (list_of(Utf8), [[" A ", None], [], None, ["x", "y", "z"], ["gone"]]),
        "quantity": (Int32, [1, 2, None, 0, -1]),
    } | columns
    kept = {name: column for name, column in table.items() if column is not None}
    return Harness(Stage.MAP, dictionaries={"codes": ("code", CODES)}).run(
        Conformance, Table.of(**kept), [0, 1, 2, 0, 1]
    )


class OrdersTest(unittest.TestCase):
    def test_orders_and_items(self) -> None:
        done = run()
        self.assertEqual(
            str(done.output("orders")),
            "id | operation | name | tag_count\n14 | 1 | Austria | 1\n13 | 0 | Austria | 3\n12 | 2 | null | null\n"
            "11 | 1 | null | 0\n10 | 0 | Austria | 2\n",
        )
        self.assertEqual(done.operations["orders"], [1, 0, 2, 1, 0])
        self.assertEqual(
            str(done.output("items")),
            "id | position | tag | quantity\n10 | 0 | a | 1\n10 | 1 | null | 1\n"
            "13 | 0 | x | 0\n13 | 1 | y | 0\n13 | 2 | z | 0\n",
        )
        self.assertEqual(done.operations["items"], [0, 1, 2, 2, 2])
        self.assertEqual(done.reject_codes, [(4, "negative", "quantity")])
        self.assertEqual(done.messages, [])

    def test_deleted_orders_delete_their_items(self) -> None:
        self.assertEqual(run(tags=(list_of(Utf8), [["a"]] * 5)).operations["items"], [0, 0, 2, 2])

    def test_each_column_is_needed(self) -> None:
        for name in ("id", "code", "tags", "quantity"):
            with self.subTest(name), self.assertRaises(Failure) as raised:
                run(**{name: None})
            self.assertEqual(raised.exception.code, "missing-column")

    def test_migrate_changes_nothing(self) -> None:
        table = Table.of(tags=(list_of(Utf8), [["a", None], None])).add("id", Int64, [1, 2], nullable=False)
        output = Harness(Stage.MIGRATE).run(Conformance, table).output()
        self.assertEqual(output.fields, table.fields)
        self.assertEqual(output.to_rows(), table.to_rows())
