// Contacts as people type them in: mail addresses and telephone numbers in one form.

import { Reject, rows, utf8 } from "gristmill";

export const transform = rows((setup, plan) => {
  setup.requireStage("normalize");
  const { country_code } = setup.config({ country_code: "1" });
  for (const column of ["name", "mail", "phone"]) plan.read(column, utf8);
  const records = plan.output("records");
  plan.forward(records, "contact_id");
  plan.compute(records, "name", utf8);
  plan.computeRequired(records, "mail", utf8);
  plan.compute(records, "phone", utf8);

  return (row, out) => {
    const mail = row.text("mail").trim().toLowerCase();
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(mail)) throw new Reject("bad-mail", "not a mail address", "mail");
    const name = row.textOrNull("name")?.trim().replace(/\s+/g, " ");
    const phone = row.textOrNull("phone");
    out.add(records, { name, mail, phone: phone && withCountry(phone, country_code) });
  };
});

/**
 * `(555) 010-4477`, `+1 555 0104477` and `001-555-0104477` as `+15550104477`; null where there are too few digits for a
 * number.
 *
 * @param {string} phone
 * @param {string} countryCode
 */
function withCountry(phone, countryCode) {
  const digits = phone.replace(/\D/g, "");
  if (digits.length < 6) return null;
  if (/^\s*\+/.test(phone)) return `+${digits}`;
  return digits.startsWith("00") ? `+${digits.slice(2)}` : `+${countryCode}${digits.replace(/^0/, "")}`;
}
