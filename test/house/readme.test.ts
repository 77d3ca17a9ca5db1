/** README.md: its first command does what the page says, and its figures are those of the bench. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { linksOf } from "../../scripts/pages.mjs";
import { createAgent } from "../../src/index.js";
import { createDemoModel } from "../../src/models/index.js";
import { createFileTools } from "../../src/tools/index.js";

const readme = readFileSync("README.md", "utf8");

/** The rows of the table below a heading, without its two first lines. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = readme.split(`\n## ${heading}\n`);
  const lines = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .slice(2, -1)
      .split(" |")
      .map((cell) => cell.trim()),
  );
}

test("the first command of the README finds both refunds of the order, and writes them to a file", async () => {
  const [, request = ""] = /npx pawl run "(.+)"$/m.exec(readme) ?? [];
  const root = mkdtempSync(join(tmpdir(), "pawl-readme-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  cpSync("examples/incident", join(root, "examples/incident"), { recursive: true });
  const agent = createAgent({ model: createDemoModel(), tools: createFileTools({ root }) });
  expect(await agent.run(request)).toMatchObject({ status: "completed" });
  const report = readFileSync(join(root, "REPORT.md"), "utf8");
  expect(report.match(/transfer \d+: 49\.00 EUR back for order_1041$/gm)).toHaveLength(2);
  expect(report).toContain("killed during refund(order_1041)");
  expect(report).not.toMatch(/order_(?!1041)\d/);
});

test("the README says of eight failures what happens, and where it is shown", () => {
  const rows = rowsBelow("When things break");
  expect(rows).toHaveLength(8);
  for (const [, , shownBy = ""] of rows) expect(linksOf(shownBy)).not.toEqual([]);
});

test("the costs in the README are those that the bench wrote, on Node 24", () => {
  const [, figures = ""] = readFileSync("docs/performance/peers.md", "utf8").split("\n## Node 24");
  const figure = (table: string, program: string, column: number): string => {
    const [, section = ""] = figures.split(`\n### ${table}\n`);
    const row = (section.split("\n### ")[0] ?? "")
      .split("\n")
      .find((line) => program !== "" && line.startsWith(`| ${program} |`));
    return row?.split(" | ")[column]?.replace(/ \|$/, "") ?? "";
  };
  const inMemory = "W1: a step, streamed and consumed";
  const durable = "W5: a durable run, synchronous NORMAL, 200 steps";
  const waiting = "W4: 5,000 runs that wait in a tool";
  const install = "W6: cold start and install";
  const bench: Readonly<Record<string, readonly [inMemory: string, durable: string]>> = {
    "a bare loop": ["floor", "floor + bare SQLite"],
    "AI SDK 7": ["ai 7", ""],
    LangGraph: ["LangGraph", "LangGraph, SQLite checkpointer"],
    Pawl: ["Pawl", "Pawl on SQLite"],
    Restate: ["", "Restate"],
  };
  const rows = rowsBelow("What it costs");
  expect(rows.length).toBeGreaterThan(5);
  for (const [name = "", ...cells] of rows) {
    const [program, onDisk] = bench[name.replaceAll("*", "")] ?? [name, ""];
    const measured = [
      figure(inMemory, program, 1),
      figure(durable, onDisk, 1),
      figure(waiting, program, 1),
      figure(install, program, 3),
    ];
    expect([name, ...cells]).toEqual([name, ...measured]);
  }
});
