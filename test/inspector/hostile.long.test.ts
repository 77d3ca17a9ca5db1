/**
 * Texts of strangers in the inspector: whatever models, tools, people and failures say, the page shows it as text.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { presentRecordings } from "../golden/present.js";
import { loadInto } from "../golden/recording.js";
import { startTestServer } from "../server/rig.js";
import { hostileText as corpus } from "../support/hostile-text.js";
import { isInShare } from "../support/share.js";
import { verifies } from "../verifies.js";
import { type InspectorPage, openBrowser, openInspector, pressUntil } from "./browser.js";

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

async function isHarmless({ page, problems, requestedUrls }: InspectorPage, url: string): Promise<void> {
  expect(await page.evaluate("typeof pwned")).toBe("undefined");
  // The page's own icons are the only pictures in it.
  expect(
    await page.evaluate(
      'document.querySelectorAll("#page :is(script, img, iframe, style, object, form, b:not(.num, .mono))").length',
    ),
  ).toBe(0);
  expect(await page.evaluate(badLinks)).toEqual([]);
  expect(requestedUrls.filter((address) => !address.startsWith(url) && !address.startsWith("data:"))).toEqual([]);
  expect(problems).toEqual([]);
}

/** The paths of all members of a value, in depth. The elements of a list share one, and the keys of a model's or a tool's objects count. */
function membersOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [path];
  if (Array.isArray(value)) return value.flatMap((one) => membersOf(one, `${path}[]`));
  return Object.entries(value).flatMap(([key, one]) => membersOf(one, `${path}.${key}`));
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
      hooks: [
        {
          name: line,
          beforeStep() {
            throw new Error(corpus);
          },
        },
      ],
    });
    const sessionId = "<img src=x onerror=pwned=1>";
    await agent.run(corpus, { sessionId });
    const rig = await startTestServer({ store, agents: [agent], work: false, ui: true });
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
    await page.getByText("estimated by Pawl").waitFor();
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
    await page.getByText("The current code does the same").waitFor();
    await harmless();
    await page.keyboard.press("a");
    await page.getByText("What will run").waitFor();
    await page.getByText(/characters of this input cannot be seen/).waitFor();
    await harmless();
    await pressUntil(page, "e", page.getByRole("button", { name: /Approve the edit/ }));
    await page.keyboard.press("Escape");
    await page.keyboard.press("n");
    await page.getByRole("textbox").fill(corpus);
    await page.getByRole("button", { name: /^Deny/ }).click();
    await page.getByText(/^Denied by token: /).waitFor();
    await page.getByRole("option", { name: /Denied by token/ }).click();
    await page.getByText("What was asked").waitFor();
    await harmless();
  });

  test("is text in every text of every event of the recorded logs", {
    ...verifies("UI-3", "SEC-18#page"),
    timeout: 300_000,
  }, async () => {
    const browser = await openBrowser();
    const types = new Set<string>();
    const shown = new Set<string>();
    let found = 0;
    for (const { recording } of presentRecordings) {
      const store = createMemoryStore();
      await loadInto(store, recording);
      const session = (id: string) => createClient({ store }).session(id);
      // A session is opened if one of its events has a member that no session before it had.
      const opening: string[] = [];
      for (const { sessionId } of recording.sessions) {
        const before = shown.size;
        for await (const event of session(sessionId).events({ follow: false })) {
          types.add(event.type);
          for (const member of membersOf(event)) shown.add(`${event.type}${member}`);
        }
        if (shown.size > before && isInShare(found++)) opening.push(sessionId);
      }
      if (opening.length === 0) continue;
      // Whatever text the server gives out is the corpus. Single words stay: names of fields are among them.
      const redact = (text: string) => (/^\w{1,40}$/.test(text) ? text : corpus);
      const rig = await startTestServer({ store, agents: [], ui: true, redact });
      const opened = await openInspector(browser, rig);
      const { page, context } = opened;
      for (const sessionId of opening) {
        const { events } = (await rig.ask("GET", `/v1/sessions/${sessionId}/events?limit=500`)).json;
        await page.goto(`${rig.url}/#/sessions/${sessionId}`);
        await page.locator(".session-head h1").waitFor();
        await page.goto(`${rig.url}/#/sessions/${sessionId}/log`);
        await page.locator(".event-detail").waitFor();
        for (const _ of events) await page.keyboard.press("j");
        await page.getByText("pwned").first().waitFor();
        await isHarmless(opened, rig.url);
      }
      await context.close();
    }
    const source = readFileSync("src/core/view/public-event.ts", "utf8");
    const known = new Set([...source.matchAll(/type: "([a-z_]+)"/g)].map(([, type = ""]) => type));
    // No recording has a hook that fails: the test above has one.
    expect([...known].filter((type) => !types.has(type))).toEqual(["hook_failed"]);
  });

  test("cannot become markup, because the browser parses none", verifies("UI-3"), async () => {
    const rig = await startTestServer({ ui: true });
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
