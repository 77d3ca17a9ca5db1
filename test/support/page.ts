/**
 * Pages of the documentation whose tables are written by the tests that show what they say. With PAWL_WRITE_DOCS set, a run of
 * the tests writes them; without, it fails where a page says otherwise.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

export type Page = {
  /** Its name below docs/. */
  readonly file: string;
  /** The command that writes it. */
  readonly command: string;
  readonly columns: readonly string[];
};

const isWriting = process.env.PAWL_WRITE_DOCS !== undefined;

/** Compares the table under a heading with the page's, or writes it. What stands behind the table stays. */
export function holdRows(page: Page, heading: string, rows: readonly (readonly string[])[]): void {
  const path = join(import.meta.dirname, "../../docs", page.file);
  const text = readFileSync(path, "utf8");
  const start = text.indexOf(`## ${heading}\n`);
  expect(start, `docs/${page.file} has no heading "${heading}"`).toBeGreaterThan(-1);
  const table = text.indexOf("| ", start);
  const next = text.indexOf("\n## ", start);
  const end = next === -1 ? text.length : next;
  const from = table === -1 || table > end ? end : table;
  const rest = text.slice(from).replace(/^(?:\|.*\n)+/, "");
  const whole = `${text.slice(0, from).trimEnd()}\n\n${tableOf(page.columns, rows)}${rest}`;
  if (isWriting) writeFileSync(path, whole);
  else expect(text, `docs/${page.file} is out of date: run \`${page.command}\``).toBe(whole);
}

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = rows.map((row) => `| ${row.map(cell).join(" | ")} |`);
  return [`| ${columns.join(" | ")} |`, `|${"---|".repeat(columns.length)}`, ...lines, ""].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("\n", "<br>").replaceAll("|", "\\|");
}
