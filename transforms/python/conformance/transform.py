"""The transform that every SDK implements; its rules are in `tests/conformance/README.md`."""

from gristmill import Batch, Failure, Outputs, Plan, Setup, Stage, Transform, export

from orders import Orders
from records import Records
from same import Same


@export
class Conformance(Transform):
    def plan(self, setup: Setup, plan: Plan) -> None:
        step = setup.config.get("step", 1)
        if type(step) is not int or not -1000 <= step <= 1000:
            raise Failure("bad-config", "`step` is not a whole number from -1000 to 1000")
        match setup.stage:
            case Stage.NORMALIZE:
                self.stage: Records | Same | Orders = Records(setup, plan, step)
            case Stage.MIGRATE:
                self.stage = Same(setup, plan)
            case Stage.MAP:
                self.stage = Orders(plan)

    def process(self, batch: Batch, outputs: Outputs) -> None:
        self.stage.process(batch, outputs)
