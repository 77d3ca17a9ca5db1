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
  ["When should I not use it?", "docs/guide/while-loop.md", "when-you-do-not-need-pawl", "model answers once"],
  ["Which Node do I need?", "docs/guide/getting-started.md", null, "Node 20.19"],
  ["Do I need a server or a queue?", "docs/faq.md", "does-it-need-a-server-an-account-or-a-service", "SQLite"],
  ["Where do I put my OpenAI key?", "docs/guide/models.md", "by-name", "OPENAI_API_KEY"],
  [
    "What happens to a call that was killed halfway?",
    "docs/guide/tools.md",
    "when-the-process-dies-in-a-call",
    "recover",
  ],
  ["How does my team approve calls in its chat?", "docs/recipes/web-hook-approvals.md", null, "pendingApprovals"],
  ["How do I get data of a known shape?", "docs/guide/structured-output.md", null, "output: report"],
  ["How do I send a picture or a PDF?", "docs/guide/files-and-pictures.md", null, "bill.pdf"],
  ["How do I continue a conversation?", "docs/guide/getting-started.md", null, "{ sessionId }"],
  ["What if it outgrows the context window?", "docs/guide/context.md", "compaction", "summary"],
  ["What happens when the provider answers 429?", "docs/guide/failures.md", "retries", "Retry-After"],
  [
    "How do several processes stay below a rate limit?",
    "docs/guide/failures.md",
    "a-rate-limit-that-several-processes-share",
    "gateway",
  ],
  ["How do I replace a model?", "docs/guide/models.md", "replacing-a-model-that-is-in-use", "prompt cache"],
  ["Can each user have other instructions?", "docs/guide/context.md", "a-system-prompt-for-each-run", "params"],
  ["Can each user have other tools?", "docs/guide/tools.md", "which-tools-the-model-may-call", "activeTools"],
  ["Which options does an agent have, and which do I need?", "docs/guide/agent-options.md", "the-first-five", "model"],
  ["How do I test without calling a model?", "docs/recipes/testing-an-agent.md", null, "createScriptedModel"],
  ["How do I use it in Next.js?", "docs/guide/server.md", "nextjs", "route.ts"],
  ["Does it run on Vercel and AWS Lambda?", "docs/guide/serverless.md", "vercel", "CRON_SECRET"],
  ["Does it run on Cloudflare Workers?", "docs/guide/where-pawl-runs.md", null, "workerd"],
  ["How do I run it every night?", "docs/guide/schedules.md", "when", "cron"],
  ["What if the machine was down that night?", "docs/guide/schedules.md", "how-slots-are-handled", "`missed`"],
  ["How does a tool wait for a payment, or an hour?", "docs/guide/sleep-and-signals.md", null, "waitFor"],
  ["What if an MCP server requires a login?", "docs/guide/mcp.md", "logging-in", "OAuth"],
  ["Can an agent call another?", "docs/guide/tools.md", "agents-as-tools", "asTool"],
  ["How do I send traces to OpenTelemetry?", "docs/guide/traces.md", "opentelemetry", "OpenTelemetry"],
  ["How do I stop a run?", "docs/guide/concepts.md", "abort", "session.abort"],
  ["What happens to runs when I deploy?", "docs/recipes/upgrading.md", null, "next step"],
  ["Can a later version read my sessions?", "docs/guide/versions.md", null, "session"],
  ["How do I delete a customer's data?", "docs/recipes/retention.md", null, "delete"],
  ["Is what it stores encrypted?", "docs/guide/stores.md", "sqlite", "encrypt"],
];

const clicks = clicksFrom("README.md");

test("there are at least fifty questions", () => expect(questions.length).toBeGreaterThanOrEqual(50));

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
