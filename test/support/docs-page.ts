/**
 * Pages of the documentation whose tables are written by the tests that show what they say. With PAWL_WRITE_DOCS set, a run of
 * the tests writes them; without, it fails where a page says otherwise.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

export type DocsPage = {
  /** Its name below docs/. */
  readonly file: string;
  /** The command that writes it. */
  readonly command: string;
  readonly columns: readonly string[];
};

const shouldWrite = process.env.PAWL_WRITE_DOCS !== undefined;

/** Compares the table under a heading with the page's, or writes it. What stands behind the table stays. */
export function expectTable(page: DocsPage, heading: string, rows: readonly (readonly string[])[]): void {
  const path = join(import.meta.dirname, "../../docs", page.file);
  const text = readFileSync(path, "utf8");
  const start = text.indexOf(`## ${heading}\n`);
  expect(start, `docs/${page.file} has no heading "${heading}"`).toBeGreaterThan(-1);
  const tableIndex = text.indexOf("| ", start);
  const next = text.indexOf("\n## ", start);
  const end = next === -1 ? text.length : next;
  const tableStart = tableIndex === -1 || tableIndex > end ? end : tableIndex;
  const afterTable = text.slice(tableStart).replace(/^(?:\|.*\n)+/, "");
  const expected = `${text.slice(0, tableStart).trimEnd()}\n\n${formatTable(page.columns, rows)}${afterTable}`;
  if (shouldWrite) writeFileSync(path, expected);
  else expect(text, `docs/${page.file} is out of date: run \`${page.command}\``).toBe(expected);
}

function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = rows.map((row) => `| ${row.map(formatCell).join(" | ")} |`);
  return [`| ${columns.join(" | ")} |`, `|${"---|".repeat(columns.length)}`, ...lines, ""].join("\n");
}

function formatCell(text: string): string {
  return text.replaceAll("\n", "<br>").replaceAll("|", "\\|");
}
