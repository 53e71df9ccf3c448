"""Stage migrate: every column is computed, and stays the same."""

from gristmill import Batch, Outputs, Plan, Setup


class Same:
    def __init__(self, setup: Setup, plan: Plan) -> None:
        records = plan.output("records")
        self.columns = []
        for field in setup.input:
            compute = records.compute if field.nullable else records.compute_required
            self.columns.append((plan.read(field.name), compute(field.name, field.type)))

    def process(self, batch: Batch, outputs: Outputs) -> None:
        for handle, out in self.columns:
            outputs.set(out, batch[handle])
