/** docs/guide/while-loop.md shows the code of examples/while-loop, and what that example measures. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Counts, kills } from "../../examples/while-loop/kills.js";
import { pageWithCode } from "../../scripts/recipes.mjs";

const page = readFileSync("docs/guide/while-loop.md", "utf8");
const read = (name: string) => readFileSync(`examples/while-loop/${name}.ts`, "utf8");

test("the page on the while loop shows the code of the example", () => {
  expect(page).toBe(pageWithCode(page, `${read("plain")}\n${read("durable")}`));
  expect(page.match(/^```ts$/gm)).toHaveLength(page.match(/^<!-- code: /gm)?.length ?? 0);
});

test("its table has the figures that the example checks by killing both loops", () => {
  const rows = page.split("\n").filter((line) => /^\| \d\. /.test(line));
  const cellsOf = (row: string) =>
    row
      .replace(/^.*?\d\. .*? \|/, "")
      .replaceAll("**", "")
      .replace(/[|\s]+/g, " ")
      .trim();
  expect(rows.map(cellsOf)).toEqual(
    kills.map(({ plain, durable }) => `${plain === null ? "lost" : format(plain)} ${format(durable)}`),
  );
});

function format({ modelCalls, questions, refunds }: Counts): string {
  return `${modelCalls} ${questions} ${refunds}`;
}
