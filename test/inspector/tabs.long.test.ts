/**
 * The inspector over a day of use: a network that comes and goes, many tabs, many sessions at once, and a screen reader.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startTestServer } from "../server/rig.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector, type Page, pressUntil } from "./browser.js";
import { createMender, writeOtherSessions, writeWaitingSession } from "./desk.js";

/** As a browser does with a tab that another one covers, or uncovers. */
const show = (page: Page, state: "hidden" | "visible") =>
  page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));`);

describe("the inspector", () => {
  test("is right again when the network is back", verifies("UI-1#screens"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Written." })) });
    await agent.run("Before the tunnel", { sessionId: "s" });
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page, context, requestedUrls } = await openInspector(await openBrowser(), rig);
    await page.getByText("Before the tunnel").click();
    await page.locator("article.final").waitFor();
    await context.setOffline(true);
    await page.getByText("The connection to the server was lost.").waitFor();
    await agent.run("In the tunnel", { sessionId: "s" });
    await context.setOffline(false);
    await page.getByText("The connection to the server was lost.").waitFor({ state: "hidden" });
    await page.getByText("In the tunnel").first().waitFor();
    expect(await page.locator(".line.step").count()).toBe(2);
    expect(requestedUrls.filter((address) => !address.startsWith(rig.url) && !address.startsWith("data:"))).toEqual([]);
  });

  test("is live in the eighth tab, although a browser has six connections", verifies("UI-1#screens"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Written." })) });
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page, context } = await openInspector(await openBrowser(), rig);
    const tabs = [page];
    for (let count = 2; count <= 8; count += 1) {
      for (const tab of tabs) await show(tab, "hidden");
      const tab = await context.newPage();
      await tab.goto(`${rig.url}/`);
      await tab.getByText("live", { exact: true }).waitFor();
      tabs.push(tab);
    }
    await agent.run("For the eighth tab", { sessionId: "s" });
    await tabs[7]?.getByText("For the eighth tab").waitFor();
    // A tab that is shown again has what it missed.
    const [first] = tabs;
    if (first === undefined) throw new Error("There is no first tab.");
    await show(first, "visible");
    await first.getByText("For the eighth tab").waitFor();
  });

  test("shows 100 sessions that work at once, and no row moves", verifies("UI-2"), async () => {
    const store = createMemoryStore();
    const gate = createDeferred();
    const model = createScriptedModel(() => ({
      deltas: (async function* () {
        await gate.promise;
        yield { kind: "text-start", id: "t" } as const;
        yield { kind: "text-delta", id: "t", text: "Done." } as const;
        yield { kind: "text-end", id: "t" } as const;
        yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 9, outputTokens: 9 } } as const;
      })(),
    }));
    const agent = createAgent({ name: "worker", store, model });
    const runs = Array.from({ length: 100 }, (_, index) =>
      agent.run(`Job ${index}`, { sessionId: `job-${String(index).padStart(3, "0")}` }),
    );
    const rig = await startTestServer({ store, agents: [], ui: true });
    const { page, problems } = await openInspector(await openBrowser(), rig);
    await page.locator("#session-49").waitFor();
    await page.getByRole("button", { name: "Older sessions" }).click();
    await page.locator("#session-99").waitFor();
    const places = () =>
      page.evaluate<string>(
        `JSON.stringify([...document.querySelectorAll(".row:not(.head)")].map((row) => [row.querySelector(".id").textContent, row.offsetTop]))`,
      );
    await expectReadable(page, "hundred");
    const before = await places();
    gate.resolve();
    await Promise.all(runs);
    await page.locator(".row .state.completed").nth(99).waitFor();
    expect(await places()).toBe(before);
    expect(problems).toEqual([]);
  });

  test("tells assistive technology what each screen has", verifies("UI-2"), async () => {
    const store = createMemoryStore();
    await writeOtherSessions(store);
    const sessionId = await writeWaitingSession(store);
    const rig = await startTestServer({ store, agents: [createMender(store)], work: false, ui: true });
    const { page } = await openInspector(await openBrowser(), rig);
    const main = page.locator("main");
    const told = async (...lines: readonly (string | RegExp)[]) => {
      const tree = await main.ariaSnapshot();
      for (const line of lines) expect(tree).toMatch(line);
    };
    await page.locator("#session-4").waitFor();
    await told(
      "searchbox",
      /combobox "Status"/,
      /treegrid "Sessions"/,
      /columnheader "Status"/,
      /row .*Fix the flaky test/,
      /link .*Fix the flaky test/,
    );
    await page.keyboard.press("a");
    await page.getByText("What will run").waitFor();
    await told(/region "Waiting and answered calls"/, /listbox "Calls"/, /option .*edit_file.*\[selected\]/);
    await told(/region "edit_file waits"/, /button "Approve/, /button "Deny/, /button "Edit/);
    await pressUntil(page, "e", page.locator(".editor"));
    await told(/textbox .*path/, /button "Approve the edit/);
    await page.goto(`${rig.url}/#/sessions/${sessionId}/cost`);
    await page.getByText("By model").waitFor();
    await told(/table "By run"/, /columnheader "cost"/, /rowheader "some\/llm-large"/, /listbox "By step"/);
    await page.goto(`${rig.url}/#/sessions/${sessionId}/replay`);
    await page.getByText(/The current code/).waitFor();
    await told(/checkbox "Use the recorded permission decisions"/, /button "Run again"/);
    await page.goto(`${rig.url}/#/sessions/${sessionId}/log`);
    await page.locator(".line.event").first().waitFor();
    await told(/combobox "Type"/, /listbox "Events"/, /region "The event"/, /navigation "Views of this session"/);
  });
});
