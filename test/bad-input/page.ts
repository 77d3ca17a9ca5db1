/**
 * The page of bad input: tables of what the user and the model see, written by the tests that show it.
 *
 * `node scripts/bad-input.mjs` writes docs/bad-input.md; a run of the tests fails where the page says otherwise.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

export type Row = {
  /** What comes in. */
  readonly input: string;
  readonly user: string;
  readonly model: string;
};

const page = join(import.meta.dirname, "../../docs/bad-input.md");
const isWriting = process.env.PAWL_WRITE_DOCS !== undefined;

/** Compares a table with the page's, or writes it. */
export function holdTable(heading: string, rows: readonly Row[]): void {
  const text = readFileSync(page, "utf8");
  const start = text.indexOf(`## ${heading}\n`);
  expect(start, `docs/bad-input.md has no heading "${heading}"`).toBeGreaterThan(-1);
  const table = text.indexOf("| ", start);
  const next = text.indexOf("\n## ", start);
  const end = next === -1 ? text.length : next;
  const from = table === -1 || table > end ? end : table;
  const whole = `${text.slice(0, from).trimEnd()}\n\n${tableOf(rows)}${text.slice(end)}`;
  if (isWriting) writeFileSync(page, whole);
  else expect(text, "docs/bad-input.md is out of date: run `node scripts/bad-input.mjs`").toBe(whole);
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ input, user, model }) => `| ${cell(input)} | ${cell(user)} | ${cell(model)} |`);
  return ["| What comes in | What the user sees | What the model sees |", "|---|---|---|", ...lines, ""].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("\n", "<br>").replaceAll("|", "\\|");
}

/** A text as it is shown in a table: short, on one line, nothing invisible; of what was cut, the mark. */
export function shown(text: string, most = 150): string {
  const mark = /\[… [^\]]{1,200} …\]/.exec(text)?.[0].replace(/[0-9a-f]{60}(?=[0-9a-f]{4})/, "…");
  const plain = text.slice(0, 2_000).replace(/(.)\1{9,}/gsu, "$1$1$1…");
  const cut = plain.length > most ? `${plain.slice(0, mark === undefined ? most : 40)}…` : plain;
  const visible = `${cut}${mark === undefined ? "" : ` ${mark} …`}`.replace(/[\p{Cc}\p{Surrogate}]/gu, (character) =>
    character === "\n" ? "⏎" : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
  return `\`${visible.replaceAll("`", "'")}\``;
}
