/**
 * What the inspector says when there is nothing to show, or when something went wrong: what it is, and what to do.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";
import { createMender, writeWaitingSession } from "./desk.js";

test("says what to do where there is nothing yet, and where nothing is left", verifies("UI-1#screens"), async () => {
  const rig = await startTestServer({ store: createMemoryStore(), agents: [], ui: true });
  const { page, problems } = await openInspector(await openBrowser(), rig);
  await page.getByText("No sessions yet").waitFor();
  await page.getByText('pawl run "List the files"').waitFor();
  await expectReadable(page, "empty");
  await page.getByRole("searchbox").fill("what nobody asked");
  await page.getByText("No matching sessions").waitFor();
  await expectReadable(page, "no-match");
  await page.getByRole("button", { name: "Show all sessions" }).click();
  await page.getByText("No sessions yet").waitFor();
  await page.goto(`${rig.url}/#/approvals`);
  await page.getByText("Nothing is waiting for you").waitFor();
  await expectReadable(page, "nothing-waits");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await expectReadable(page, "keys");
  expect(problems).toEqual([]);
});

test("says what is not there, and leads back to what is", verifies("UI-1#screens"), async () => {
  const store = createMemoryStore();
  const sessionId = await writeWaitingSession(store);
  const rig = await startTestServer({ store, agents: [createMender(store)], work: false, ui: true });
  const { page } = await openInspector(await openBrowser(), rig);
  await page.goto(`${rig.url}/#/sessions/nobody-made-this`);
  await page.getByText("This could not be loaded").waitFor();
  await expectReadable(page, "no-session");
  await page.locator(".center").getByText("All sessions").click();
  await page.getByText("Fix the flaky test").waitFor();
  await page.goto(`${rig.url}/#/sessions/${sessionId}/steps/nobody/7`);
  await page.getByText("This step does not exist").waitFor();
  await expectReadable(page, "no-step");
  await page.getByRole("button", { name: "Show the newest step" }).click();
  await page.getByRole("heading", { name: "Step 3" }).waitFor();
  await page.goto(`${rig.url}/#/sessions/${sessionId}/log/restarted`);
  await page.getByText("No events of this type").waitFor();
  await expectReadable(page, "no-event");
  await page.getByRole("button", { name: "Show all types" }).click();
  await page.locator(".line.event", { hasText: "session_created" }).waitFor();
  await page.goto(`${rig.url}/#/approvals/${sessionId}/nobody%2F1%2F0`);
  await page.getByText("This call is no longer waiting").waitFor();
  await expectReadable(page, "gone");
});

test("says that it cannot reach the server, and asks again", verifies("UI-1#screens"), async () => {
  const store = createMemoryStore();
  await writeWaitingSession(store);
  const rig = await startTestServer({ store, agents: [createMender(store)], work: false, ui: true });
  const { page, context } = await openInspector(await openBrowser(), rig);
  await page.getByText("Fix the flaky test").waitFor();
  await page.route("**/v1/sessions?*", (request) => request.abort());
  await page.getByRole("combobox", { name: "Status" }).waitFor();
  await page.getByRole("searchbox").fill("flaky");
  await page.getByText("This could not be loaded").waitFor();
  await expectReadable(page, "failed");
  await page.unroute("**/v1/sessions?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("This could not be loaded").waitFor({ state: "hidden" });
  await page.locator("#session-0").waitFor();
  await context.setOffline(true);
  await page.getByText("The connection to the server was lost.").waitFor();
  await expectReadable(page, "offline");
  await context.setOffline(false);
  await page.getByText("The connection to the server was lost.").waitFor({ state: "hidden" });
});

test("says why it lets nobody in without a link, or with an old one", verifies("UI-1#screens"), async () => {
  const rig = await startTestServer({ store: createMemoryStore(), agents: [], ui: true });
  const browser = await openBrowser();
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${rig.url}/`);
  await page.getByText("This page needs a link").waitFor();
  await expectReadable(page, "no-link");
  const code = rig.server.createStartCode();
  await openInspector(browser, { url: rig.url, server: { ...rig.server, createStartCode: () => code } });
  const late = await (await browser.newContext()).newPage();
  await late.goto(`${rig.url}/#start=${code}`);
  await late.getByText("This link was already used, or has expired").waitFor();
  await expectReadable(late, "old-link");
});
