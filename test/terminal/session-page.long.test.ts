/**
 * The page that `/export FILE.html` writes, opened in Chromium from its file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { renderSessionPage } from "../../src/cli/conversation/commands/session-page.js";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { createWorld } from "../cli/pawl.js";
import { expectReadable, openBrowser } from "../inspector/browser.js";
import { startProviderServer } from "../models/provider-server.js";
import { hostileText } from "../support/hostile-text.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

async function openFile(path: string) {
  const context = await (await openBrowser()).newContext();
  context.setDefaultTimeout(10_000);
  const asked: string[] = [];
  context.on("request", (request: { readonly url: () => string }) => void asked.push(request.url()));
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  return { page, asked };
}

const answerText = `## What I found

A **bold** word, \`code\`, [a page](https://example.org/a) and a list:

- one
- two

| file | lines |
| --- | ---: |
| a.ts | 3 |

\`\`\`ts
const wide = "${"x".repeat(160)}";
\`\`\`

مرحبا بالعالم

日本語のテキスト`;

test("/export writes a page that shows the session, light and dark, at three sizes", verifies("CHAT-3"), async () => {
  const world = createWorld();
  const server = await startProviderServer("openai-chat", [
    { type: "answer", calls: [{ name: "list_files", input: { path: "." } }] },
    { type: "answer", text: answerText },
  ]);
  onTestFinished(() => server.close());
  const person = openPawl(world, ["--model", "openai-compatible/test"], { env: { OPENAI_BASE_URL: server.baseURL } });
  await person.sees("ready");
  person.type("What is <here>?\r");
  await person.sees(/What I found[\s\S]*ready/);
  person.type("/export talk.html\r");
  await person.sees("Wrote ");
  person.type("/export talk.html\r");
  await person.sees("talk.html already exists");
  person.type("/export talk.md\r");
  await person.sees(/Wrote .*talk\.md/);
  person.type("/quit\r");
  await person.ended;
  expect(readFileSync(join(world.root, "talk.md"), "utf8")).toContain(answerText);
  const { page, asked } = await openFile(join(world.root, "talk.html"));
  expect(await page.getByRole("heading", { name: "What is <here>?" }).count()).toBe(1);
  expect(await page.getByText("What is <here>?").count()).toBe(2);
  for (const part of ["bold", "code", "one", "a.ts", "日本語のテキスト"])
    await page.locator(".answer").getByText(part, { exact: true }).first().waitFor();
  await page.locator("summary", { hasText: "list_files" }).click();
  await page.locator("details pre").nth(1).waitFor();
  await expectReadable(page, "exported-session");
  expect(asked).toHaveLength(1);
});

test("text of strangers is text of the exported page", verifies("SEC-18#page"), async () => {
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input: { type: "object" },
    execute: () => hostileText,
  });
  const model = createScriptedModel([
    { text: hostileText, calls: [{ name: "write", input: { [hostileText]: hostileText } }] },
    { text: `${hostileText}\n\n${hostileText.replaceAll("\n", "\n\n")}\n\n~~~${hostileText}` },
  ]);
  const agent = createAgent({ model, tools: [write], store: createMemoryStore() });
  const { sessionId } = await agent.run(hostileText);
  const items = agent.session(sessionId).events({ follow: false, live: false });
  const facts = { title: hostileText, sessionId, folder: hostileText, model: hostileText };
  const file = join(createWorld().root, "hostile.html");
  writeFileSync(file, await renderSessionPage(facts, items, (text) => text));
  const { page, asked } = await openFile(file);
  await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
  expect(await page.evaluate("typeof pwned")).toBe("undefined");
  expect(
    await page.evaluate(
      'document.querySelectorAll("body :is(script, img, iframe, style, object, form, svg, math)").length',
    ),
  ).toBe(0);
  const links = '[...document.querySelectorAll("a")].filter((a) => !/^https?:/.test(a.getAttribute("href"))).length';
  expect(await page.evaluate(links)).toBe(0);
  expect(readFileSync(file, "utf8")).not.toMatch(/[\u202e\u2066]/);
  expect(asked).toHaveLength(1);
});
