/**
 * Texts of strangers in the inspector: whatever models, tools, people and failures say, the page shows it as text.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { serverOfTest } from "../server/rig.js";
import { hostileText as corpus } from "../support/hostile-text.js";
import { verifies } from "../verifies.js";
import { type Opened, openBrowser, openInspector } from "./browser.js";

const write = defineTool({
  name: "write",
  description: corpus,
  input: { type: "object" },
  needsApproval: (input) => "ask" in input,
  execute(input) {
    if ("fail" in input) throw new Error(corpus);
    return corpus;
  },
});

/** Links out of the page that run something, hide where they lead, or give the page that opens power over this one. */
const badLinks = `[...document.querySelectorAll("a")].filter((a) => {
  const href = a.getAttribute("href");
  if (href.startsWith("#/")) return false;
  return !/^https?:/.test(href) || !a.textContent.includes(href) || !a.relList.contains("noopener");
}).map((a) => a.outerHTML)`;

async function isHarmless({ page, problems, asked }: Opened, url: string): Promise<void> {
  expect(await page.evaluate("typeof pwned")).toBe("undefined");
  // The page's own icons are the only pictures in it.
  expect(
    await page.evaluate(
      'document.querySelectorAll("#page :is(script, img, iframe, style, object, form, b:not(.num, .mono))").length',
    ),
  ).toBe(0);
  expect(await page.evaluate(badLinks)).toEqual([]);
  expect(asked.filter((address) => !address.startsWith(url) && !address.startsWith("data:"))).toEqual([]);
  expect(problems).toEqual([]);
}

describe("text of strangers", () => {
  test("is text on every screen, and nothing leaves the origin", verifies("UI-3", "SEC-18#page"), async () => {
    const store = createMemoryStore();
    const [line = ""] = corpus.split("\n");
    const agent = createAgent({
      name: `<i onclick=pwned=1>${line}`,
      store,
      model: createScriptedModel(
        [
          { reasoning: corpus, text: corpus, calls: [{ name: "write", input: { [line]: corpus } }] },
          { calls: [{ name: "write", input: { fail: corpus } }] },
          { error: { kind: "overloaded", message: corpus } },
          { text: corpus, calls: [{ name: "write", input: { ask: corpus, oldText: corpus, newText: `${corpus}!` } }] },
          { text: corpus },
        ],
        { id: line },
      ),
      tools: [write],
      systemPrompt: corpus,
      retry: { baseDelayMs: 1, maxDelayMs: 1 },
    });
    const sessionId = "<img src=x onerror=pwned=1>";
    await agent.run(corpus, { sessionId });
    const rig = await serverOfTest({ store, agents: [agent], work: false, ui: true });
    const opened = await openInspector(await openBrowser(), rig);
    const { page } = opened;
    const harmless = () => isHarmless(opened, rig.url);
    await page.locator("#session-0").waitFor();
    await harmless();
    await page.keyboard.press("Enter");
    await page.getByRole("article").first().waitFor();
    for (const step of ["Home", "j", "j"]) {
      await page.keyboard.press(step);
      await page.getByRole("article").first().waitFor();
      await harmless();
    }
    await page.keyboard.press("r");
    await page.getByText("as Pawl estimates").waitFor();
    await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
    await harmless();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
    await harmless();
    await page.keyboard.press("l");
    await page.locator(".line.event").nth(3).click();
    await harmless();
    await page.keyboard.press("f");
    await page.getByRole("button", { name: "Copy only" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Cost" }).click();
    await page.getByText("By model").waitFor();
    await harmless();
    await page.getByRole("link", { name: "Replay" }).click();
    await page.getByText("The present code does the same").waitFor();
    await harmless();
    await page.keyboard.press("a");
    await page.getByText("What will run").waitFor();
    await page.getByText(/characters of this input cannot be seen/).waitFor();
    await harmless();
    await page.keyboard.press("e");
    await page.getByRole("button", { name: /Approve the edit/ }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("d");
    await page.getByRole("textbox").fill(corpus);
    await page.getByRole("button", { name: /^Deny/ }).click();
    await page.getByText(/^Denied by token: /).waitFor();
    await page.getByRole("option", { name: /Denied by token/ }).click();
    await page.getByText("What was asked").waitFor();
    await harmless();
  });

  test("cannot become markup, because the browser parses none", verifies("UI-3"), async () => {
    const rig = await serverOfTest({ ui: true });
    const { page } = await openInspector(await openBrowser(), rig);
    const thrown = await page.evaluate<string>(
      'try { document.body.innerHTML = "<b>x</b>"; "parsed" } catch (error) { error.name }',
    );
    expect(thrown).toBe("TypeError");
    expect(
      await page.evaluate<string>('fetch("https://evil.example/").then(() => "asked", (error) => error.name)'),
    ).toBe("TypeError");
  });
});
