/**
 * How many names an entry point exports, by the reports in `etc` (`npm run api`). A type that programs get by inference, or with
 * `Parameters`, `ReturnType` or an index, needs no name (docs/decisions/0156).
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("`pawl` exports at most 200 names", () => {
  const names = listNames(readFileSync("etc/pawl.api.md", "utf8"));
  expect(names).toContain("createAgent");
  expect(names).toContain("AgentOptions");
  expect(
    names.length,
    "Move a name to the entry point it belongs to, or leave the type without a name.",
  ).toBeLessThanOrEqual(200);
});

function listNames(report: string): readonly string[] {
  const exported =
    /^export (?:abstract )?(?:async )?(?:class|const|function|interface|type) (\w+)|^export \{ (?:\w+ as )?(\w+) \}/gm;
  return [...new Set([...report.matchAll(exported)].map(([, name, renamed]) => name ?? renamed ?? ""))];
}
