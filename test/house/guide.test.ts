/**
 * The guide: each page begins with a short introduction and ends with what comes next, and the index lists them all.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { linksOf, markdownIn, titleOf } from "../../scripts/pages.mjs";
import type { AgentOptions } from "../../src/index.js";

const folder = "docs/guide";
const pages = markdownIn(folder).map((path) => ({ path, text: readFileSync(path, "utf8") }));

/** The paragraphs of a page below its title, without comments. */
function paragraphsOf(text: string): readonly string[] {
  return text
    .replace(/<!--[\s\S]*?-->/g, "")
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "");
}

describe.each(pages)("$path", ({ text }) => {
  test("begins with a short introduction", () => {
    const [title, first] = paragraphsOf(text);
    expect(title).toMatch(/^# \S/);
    expect(first).toMatch(/^[A-Z]/);
    expect(first?.length).toBeLessThan(500);
  });

  test("ends with what comes next", () => {
    const last = paragraphsOf(text).at(-1) ?? "";
    expect(last).toMatch(/^\*\*Next:\*\* /);
    expect(linksOf(last).length).toBeGreaterThan(0);
  });
});

test("the index names every page of the guide, by its title", () => {
  const index = readFileSync(`${folder}/index.md`, "utf8");
  for (const { path, text } of pages.filter(({ path }) => !path.endsWith("/index.md"))) {
    expect(index, "docs/guide/index.md lacks a row").toContain(`| [${titleOf(text)}](${basename(path)}) |`);
  }
});

test("no two pages of the documentation have one name, but for the beginnings of folders", () => {
  const names = markdownIn("docs")
    .map((path) => basename(path))
    .filter((name) => name !== "README.md" && name !== "index.md");
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

/** The compiler refuses this object if an option is missing, or does not exist. */
const agentOptions: { readonly [Name in keyof Required<AgentOptions>]: true } = {
  address: true,
  canExecuteTool: true,
  clock: true,
  compaction: true,
  context: true,
  deps: true,
  fallbacks: true,
  handoffs: true,
  hooks: true,
  leaseMs: true,
  limits: true,
  makeId: true,
  model: true,
  models: true,
  name: true,
  observers: true,
  onCompacted: true,
  onResponse: true,
  onStepFinish: true,
  onText: true,
  onToolCall: true,
  onToolResult: true,
  params: true,
  promptCache: true,
  redact: true,
  repairToolCall: true,
  retry: true,
  root: true,
  runModel: true,
  runTool: true,
  services: true,
  settings: true,
  stopWhen: true,
  store: true,
  systemPrompt: true,
  timeouts: true,
  tokens: true,
  toolOutput: true,
  tools: true,
  usage: true,
};

test("the page on an agent's options explains each of them once, in a row or among the callbacks", () => {
  const page = readFileSync(`${folder}/agent-options.md`, "utf8");
  const [, callbacks = ""] = /## Callbacks\n([\s\S]*?)\n## /.exec(page) ?? [];
  const rows = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].map(([, names = ""]) => names);
  const explained = [...rows, ...(callbacks.match(/`on\w+`/g) ?? [])].flatMap((names) => names.match(/\w+/g) ?? []);
  expect(explained.toSorted()).toEqual(Object.keys(agentOptions).toSorted());
});
