/**
 * docs/comparison.md: each line of Pawl runs as it stands on the page (comparison-lines.ts, more-comparison-lines.ts), and each
 * program has a row in each table, with a link to where that program says what the row says, or is named below the table.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runs as firstRuns, type Line } from "./comparison-lines.js";
import { moreRuns } from "./more-comparison-lines.js";

const runs = { ...firstRuns, ...moreRuns };

const programs = [
  "AI SDK",
  "OpenAI Agents JS",
  "LangGraph.js",
  "Mastra",
  "pi",
  "eve",
  "Flue",
  "Think",
  "Claude Agent SDK",
  "Trigger.dev",
  "DBOS",
  "Pawl",
];

type Row = {
  readonly program: string;
  readonly source: string | undefined;
  readonly code: string;
  readonly kill: string;
};
type Section = {
  readonly heading: string;
  readonly rows: readonly Row[];
  /** The programs whose documentation says nothing of the subject. */
  readonly silent: readonly string[];
};

const sections = sectionsOf(readFileSync("docs/comparison.md", "utf8"));

/** The sections of the page, each with its table. */
function sectionsOf(page: string): readonly Section[] {
  return page
    .split(/^### /m)
    .slice(1)
    .map((text) => {
      const [heading = "", ...lines] = text.split("\n");
      const [, , ...rows] = lines.filter((line) => line.startsWith("|"));
      const silent = /^Not in the documentation of: (.+)\.$/m.exec(text)?.[1]?.split(", ") ?? [];
      return { heading, rows: rows.map(rowOf), silent };
    });
}

function rowOf(line: string): Row {
  const [, program = "", code = "", kill = ""] = /^\| (.+?) \| (.+) \| (.+) \|$/.exec(line) ?? [];
  const [, name = program.replaceAll("*", ""), source] = /^\[(.+)\]\((https:\S+)\)$/.exec(program) ?? [];
  return { program: name, source, code, kill };
}

/** The sections with a line of Pawl. */
const written = sections.filter(({ rows }) => rows.at(-1)?.program === "Pawl");

/** A line as the page has it. It counts how often it ran. */
function lineOf({ heading, rows }: Section): Line & { readonly count: () => number } {
  const code = /^`([^`]+)`$/.exec(rows.at(-1)?.code ?? "")?.[1];
  if (code === undefined) throw new Error(`${heading}: the row of Pawl has no line of code.`);
  let count = 0;
  return {
    count: () => count,
    run(surroundings) {
      count += 1;
      return evaluate(code, surroundings);
    },
    hand() {
      count += 1;
      return code;
    },
  };
}

/** Runs a line among these names. A line that waits gives a promise. */
// biome-ignore lint/suspicious/noExplicitAny: the value of a line has the type that the line gives it.
function evaluate(code: string, surroundings: { readonly [name: string]: unknown }): any {
  const waits = /^(await|for await) /.test(code);
  const body = code.startsWith("for ") ? code : `return (${code});`;
  const written = waits ? `return (async () => { ${body} })();` : body;
  return new Function(...Object.keys(surroundings), written)(...Object.values(surroundings));
}

describe("the page that compares", () => {
  test("has each program once in each section, in the same order, and each row has its source", () => {
    expect(written.length).toBeGreaterThan(20);
    for (const { heading, rows, silent } of sections) {
      const named = rows.map(({ program }) => program);
      expect({ heading, named }).toEqual({ heading, named: programs.filter((program) => named.includes(program)) });
      expect({ heading, silent }).toEqual({ heading, silent: programs.filter((program) => !named.includes(program)) });
      for (const { program, source, kill } of rows) {
        expect(kill, `${heading}, ${program}`).not.toBe("");
        if (program !== "Pawl") expect(source, `${heading}, ${program}`).toMatch(/^https:/);
      }
    }
  });

  test("has a run for each of its lines, and no other", () => {
    expect(Object.keys(runs).sort()).toEqual(written.map(({ heading }) => heading).sort());
  });
});

describe("the line of Pawl for", () => {
  for (const section of written)
    test(section.heading, async () => {
      const line = lineOf(section);
      await runs[section.heading]?.(line);
      expect(line.count()).toBeGreaterThan(0);
    });
});
