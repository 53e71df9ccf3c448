import assert from "node:assert/strict";
import test from "node:test";
import { int64, utf8 } from "gristmill";
import { run, Table } from "gristmill/testing";
import { transform } from "../src/transform.js";

const kinds = { contact_id: int64, name: utf8, mail: utf8, phone: utf8 };

test("contacts get one form", () => {
  const input = Table.fromCsv(
    "contact_id,name,mail,phone\n" +
      "1,  Ada   Lovelace, Ada@Example.org ,(555) 010-4477\n" +
      "2,,grace@example.org,+44 20 7946 0958\n" +
      "3,Edsger,edsger@example.org,ask\n" +
      "4,Nobody,nobody at home,\n" +
      "5,Alan,,555\n",
    kinds,
  );
  const result = run(transform, { stage: "normalize", input });
  assert.equal(
    result.output().toString(),
    "contact_id | name | mail | phone\n" +
      "1 | Ada Lovelace | ada@example.org | +15550104477\n" +
      "2 | null | grace@example.org | +442079460958\n" +
      "3 | Edsger | edsger@example.org | null\n",
  );
  assert.deepEqual(result.rejectCodes(), [[3, "bad-mail", "mail"], [4, "missing-value", "mail"]]);
});

test("the country is configured", () => {
  const phones = ["030 901820", "0041 44 6681800"];
  const input = Table.of(kinds, phones.map((phone, row) => ({ contact_id: row, mail: "a@b.de", phone })));
  const result = run(transform, { stage: "normalize", input, config: { country_code: "49" } });
  assert.deepEqual(result.output().values("phone"), ["+4930901820", "+41446681800"]);
});
