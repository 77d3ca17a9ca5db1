/** docs/terminals.md: each numbered line of Pawl has a test that exists, and each cell of the others a source or a dash. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const page = readFileSync("docs/terminals.md", "utf8");

/** The cells of each row of the page that has this many columns, without the head of its table. */
const rowsOf = (columns: number): readonly (readonly string[])[] =>
  page
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| |"))
    .map((line) => line.slice(2, -2).split(" | "))
    .filter((cells) => cells.length === columns);

const lines = rowsOf(7);
const numbers = lines.map((cells) => cells.at(-1)?.trim() ?? "").filter((number) => number !== "");
const proofs = rowsOf(3).filter(([number = ""]) => /^\d+$/.test(number));

describe("the page about terminals", () => {
  test("numbers its lines of Pawl, and has a test for each", () => {
    expect(numbers).toEqual(numbers.map((_, index) => `${index + 1}`));
    expect(proofs.map(([number]) => number)).toEqual(numbers);
    expect(numbers.length).toBeGreaterThan(25);
  });

  test.each(proofs)("has for line %s a test that exists: %s, %s", (_number, file = "", title = "") => {
    const path = `test/${file.replaceAll("`", "")}`;
    expect(existsSync(path), path).toBe(true);
    expect(readFileSync(path, "utf8")).toContain(`"${title}"`);
  });

  test("says of every other program where that is written, or that nothing was found", () => {
    for (const [feature, ...cells] of lines)
      for (const cell of cells.slice(0, 4))
        expect(cell, `${feature}: ${cell}`).toMatch(/\]\(https:\/\/|^–$|an extension|background server/);
  });

  test("does without a number only where Pawl has nothing", () => {
    for (const cells of lines)
      if (cells.at(-1)?.trim() === "") expect(cells.at(-2), cells[0]).toMatch(/^(none|not tested)/);
  });
});
