/**
 * Secrets by value are found in whatever way JSON has written them.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedaction } from "../../src/index.js";
import { verifies } from "../verifies.js";

const proven = verifies("TRC-2", "SEC-14");

const secrets = [
  'pass"word"1',
  "C:\\new\\table\\rows",
  "tab\tand\nnewline",
  "-----KEY\nabcdefgh\nijklmnop\n-----END",
  "slash/and'quote`x",
  "häßlich-密码-🔑",
  'all of \\ " \n \t / it',
  "\u0001\u001f control",
  "plain-secret-word",
];

const escapeAll = (text: string) =>
  text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
const escapeOther = (text: string) =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^ -~]|[<>&'/]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`);
const escapeOnce = (text: string) => JSON.stringify(text).slice(1, -1);

const forms: readonly { readonly name: string; readonly write: (text: string) => string }[] = [
  { name: "raw", write: (text) => text },
  { name: "as JSON", write: escapeOnce },
  { name: "as JSON in JSON", write: (text) => escapeOnce(escapeOnce(text)) },
  { name: "three times", write: (text) => escapeOnce(escapeOnce(escapeOnce(text))) },
  { name: "as JSON in ASCII", write: escapeOther },
  { name: "as JSON in ASCII in JSON", write: (text) => escapeOnce(escapeOther(text)) },
  { name: "with every character escaped", write: escapeAll },
  { name: "with slashes escaped", write: (text) => escapeOnce(text).replaceAll("/", "\\/") },
];

describe.each(forms)("written $name", proven, ({ write }) => {
  test.each(secrets)("%j is masked, and only it", (secret) => {
    const redact = createRedaction({ values: [secret] });
    for (const around of ["", "x", " ", '"', "é", "\n"]) {
      const text = `${write(`before${around}`)}${write(secret)}${write(`${around}after`)}`;
      expect(redact(text)).toBe(`${write(`before${around}`)}[redacted]${write(`${around}after`)}`);
    }
  });
});

test("JSON stays JSON, at every depth", proven, () => {
  const redact = createRedaction({ values: secrets });
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      fc.constantFrom(...secrets),
      fc.string(),
      fc.array(tie("value")),
      fc.dictionary(fc.string(), tie("value")),
    ),
  })).value;
  fc.assert(
    fc.property(value, fc.nat({ max: 2 }), (data, depth) => {
      let text = JSON.stringify(data);
      for (let level = 0; level < depth; level += 1) text = JSON.stringify(text);
      let shown: unknown = JSON.parse(redact(text));
      for (let level = 0; level < depth; level += 1) shown = JSON.parse(String(shown));
      for (const secret of secrets) expect(JSON.stringify(shown)).not.toContain(escapeOnce(secret));
    }),
    { numRuns: 300 },
  );
});

test("overlapping secrets are masked whole", proven, () => {
  const redact = createRedaction({ values: ['abc"defg', 'defg"hij'] });
  expect(redact('x abc\\"defg\\"hij y')).toBe("x [redacted] y");
});

test("a text without them stays as it is", proven, () => {
  const redact = createRedaction({ values: secrets });
  for (const text of ["\\", "\\\\", "\\u", "\\u00", '{"a":"b\\n"}', "a\\", "\\u005c", "C:\\other\\path"])
    expect(redact(text)).toBe(text);
});
