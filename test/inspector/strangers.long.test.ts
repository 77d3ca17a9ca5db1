/**
 * The inspector among strangers: another program on the server's port, a link from somebody else, and links whose text is
 * not their address.
 */
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { startServer, startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";

test(
  "a program that listens on the port of a dead server is not sent the page's half",
  verifies("SEC-2#page"),
  async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Written." })) });
    await agent.run("Before the end", { sessionId: "s" });
    const rig = await startServer({ store, agents: [agent], ui: true });
    const { page } = await openInspector(await openBrowser(), rig);
    await page.getByText("Before the end").waitFor();
    const asked: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
    const stranger = createHttpServer(({ url = "", headers }, response) => {
      asked.push({ url, headers });
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ page: "0".repeat(64), server: "0".repeat(64), sessions: [], next: null }));
    });
    onTestFinished(() => void stranger.close());
    rig.breakConnections();
    await rig.close();
    await new Promise<void>((resolve) => stranger.listen(Number(new URL(rig.url).port), "127.0.0.1", resolve));
    await page.getByText("Another program answers at this address").waitFor({ timeout: 40_000 });
    await expectReadable(page, "stranger");
    expect(asked.length).toBeGreaterThan(0);
    for (const { url, headers } of asked) {
      expect(url).toMatch(/^\/v1\/ui\/proof\?nonce=/);
      expect(headers).not.toHaveProperty("x-pawl-page");
    }
  },
);

test("a link for another login is taken only after a question", verifies("SEC-2#page"), async () => {
  const rig = await startTestServer({ store: createMemoryStore(), agents: [], ui: true });
  const { page } = await openInspector(await openBrowser(), rig);
  const foreign = () => `${rig.url}/#start=${rig.server.createStartCode({ id: "ev\u202eil", scopes: ["read"] })}`;
  await page.goto("about:blank");
  await page.goto(foreign());
  await page.getByText("This link is for another login").waitFor();
  await page.getByText("ev\\u{202e}il").first().waitFor();
  await expectReadable(page, "other-login");
  await page.getByRole("button", { name: "Stay as token" }).click();
  await page.getByRole("link", { name: "Pawl" }).waitFor();
  expect(
    await page.evaluate<number>(
      `fetch("/v1/approvals", { headers: { "x-pawl-page": localStorage.getItem("pawl.page") } }).then(({ status }) => status)`,
    ),
  ).toBe(200);
  await page.goto("about:blank");
  await page.goto(foreign());
  await page.getByRole("button", { name: /^Act as ev/ }).click();
  await page.getByRole("link", { name: "Pawl" }).waitFor();
  expect(
    await page.evaluate<number>(
      `fetch("/v1/approvals", { headers: { "x-pawl-page": localStorage.getItem("pawl.page") } }).then(({ status }) => status)`,
    ),
  ).toBe(403);
});

test(
  "a link shows its whole address in ASCII, and the characters of its text that change a direction",
  verifies("SEC-18#page"),
  async () => {
    const text = [
      "[\u202emoc.knab//:sptth\u202c](https://evil.example/a) and",
      "[אבג](https://evil.example/b) and [my bank](https://b\u0430nk.example/c).",
    ].join(" ");
    const store = createMemoryStore();
    const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text })) });
    await agent.run("Give me links", { sessionId: "s" });
    const rig = await startTestServer({ store, agents: [agent], ui: true });
    const { page } = await openInspector(await openBrowser(), rig);
    await page.getByText("Give me links").click();
    await page.locator("article.final a").first().waitFor();
    const shown = await page.evaluate<readonly string[]>(
      `[...document.querySelectorAll("article.final a")].map((link) => link.textContent)`,
    );
    expect(shown).toEqual([
      "\\u{202e}moc.knab//:sptth\\u{202c} (https://evil.example/a)",
      "אבג (https://evil.example/b)",
      "my bank (https://xn--bnk-6cd.example/c)",
    ]);
    await expectReadable(page, "links");
  },
);
