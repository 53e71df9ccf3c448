import unittest

from gristmill import Int64, Stage, Utf8
from gristmill.testing import Harness, Table
from transform import Orders


class OrdersTest(unittest.TestCase):
    def test_prices_become_cents_and_bad_ones_are_rejected(self) -> None:
        orders = Table.from_csv(
            "order_id,customer,price\n1, Ada ,$19.90\n2,Grace,free\n",
            {"order_id": Int64, "customer": Utf8, "price": Utf8},
        )
        run = Harness(Stage("{{stage}}")).run(Orders, orders)
        self.assertEqual(str(run.output()), "order_id | customer | cents\n1 | Ada | 1990\n")
        self.assertEqual(run.reject_codes, [(1, "bad-price", "price")])
