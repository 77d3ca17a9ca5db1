/**
 * What a newcomer asks, and where the answer stands: at most two clicks from the README.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { anchorsOf, isForeign, linksOf } from "../../scripts/pages.mjs";

const mostClicks = 2;

/** A question, the page that answers it, the heading there (null: its beginning), and words of the answer. */
const questions: readonly (readonly [
  question: string,
  page: string,
  anchor: string | null,
  answer: string | RegExp,
])[] = [
  ["What is it?", "README.md", null, "agent loop for TypeScript"],
  ["How do I try it without a key?", "README.md", null, "demo model"],
  ["How do I install it, and write a first program?", "docs/guide/getting-started.md", null, "npm install pawl"],
  ["Which models can I use?", "docs/guide/models.md", "ai-sdk-models", "AI SDK"],
  ["Can I use a model on my own machine?", "docs/guide/models.md", null, /llama\.cpp|Ollama/],
  ["How do I write a tool?", "docs/guide/tools.md", null, "defineTool"],
  ["What happens if the process is killed?", "docs/guide/concepts.md", "what-happens-after-a-kill", "never runs again"],
  ["Will a card be charged twice?", "docs/guide/side-effects.md", null, "idempotencyKey"],
  ["How does a person approve a call, days later?", "docs/guide/people.md", null, "pawl approve"],
  ["How do I put it on a web page?", "docs/guide/chat-page.md", null, "useChat"],
  ["How do I stream the answer?", "docs/guide/getting-started.md", null, "runStream"],
  ["How do I limit what a run costs?", "docs/guide/limits.md", "cost", "maxCostUsd"],
  ["What if the provider is down?", "docs/guide/failures.md", null, "fallbacks"],
  ["Which store do I take?", "docs/guide/choices.md", "memory-sqlite-postgresql-restate", "PostgreSQL"],
  [
    "What is the difference between run, send and resume?",
    "docs/guide/choices.md",
    "run-send-resume",
    "starts nothing",
  ],
  ["How do I run it on several machines?", "docs/guide/fleet.md", "postgresql", "balancer"],
  ["How do I use the tools of an MCP server?", "docs/guide/mcp.md", null, "@modelcontextprotocol/client"],
  ["How do I test my agent?", "docs/guide/crash-kit.md", null, "crashTest"],
  ["What does this error code mean?", "docs/errors.md", "bad_configuration", "code"],
  ["How does it compare with what I use now?", "docs/comparison.md", null, "LangGraph"],
  ["What does a step cost?", "docs/performance.md", null, "Performance"],
  ["Is it safe to let it run commands?", "SECURITY.md", "threat-model", "sandbox"],
];

const clicks = clicksFrom("README.md");

test("there are at least twenty questions", () => expect(questions.length).toBeGreaterThanOrEqual(20));

test.each(questions)("%s", (_, page, anchor, answer) => {
  const distance = clicks.get(page);
  expect(distance, `no links lead from the README to ${page}`).toBeDefined();
  expect(distance, `clicks from the README to ${page}`).toBeLessThanOrEqual(mostClicks);
  const text = readFileSync(page, "utf8");
  if (anchor !== null) expect([...anchorsOf(text)]).toContain(anchor);
  expect(text).toMatch(answer);
});

/** How many links lead to each page, from this one. */
function clicksFrom(start: string): ReadonlyMap<string, number> {
  const found = new Map([[start, 0]]);
  for (const [page, distance] of found) {
    if (!page.endsWith(".md")) continue;
    for (const { target, isPicture } of linksOf(readFileSync(page, "utf8"))) {
      const [path = ""] = target.split("#");
      const next = normalize(join(dirname(page), path));
      if (!isPicture && !isForeign(target) && path !== "" && !found.has(next) && existsSync(next))
        found.set(next, distance + 1);
    }
  }
  return found;
}
