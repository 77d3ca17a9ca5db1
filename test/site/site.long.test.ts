/**
 * The documentation as a site, built and read in Chromium: in three sizes, and in light and dark colors, with nothing loaded from elsewhere.
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
// @ts-expect-error a script without types
import { serve } from "../../scripts/site/serve.mjs";
import { openBrowser, type Page, takePictures } from "../inspector/browser.js";

type Served = { readonly url: string; readonly close: () => Promise<void> };

const sizes = [
  [1440, 900],
  [1024, 768],
  [390, 844],
] as const;
/** Every size in light colors, and one in dark ones. */
const cases = [
  ...sizes.map(([width, height]) => ({ width, height, colorScheme: "light" as const })),
  { width: 1440, height: 900, colorScheme: "dark" as const },
];

beforeAll(() => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/site.mjs"], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
}, 300_000);

/** Opens the first page. Every name but that of this machine leads nowhere: the browser is offline. */
async function openSite({ width, height, colorScheme }: (typeof cases)[number]) {
  const served = (await serve(resolve("temp/site"))) as Served;
  onTestFinished(() => served.close());
  const browser = await openBrowser(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]);
  const context = await browser.newContext({ viewport: { width, height } });
  context.setDefaultTimeout(15_000);
  const problems: string[] = [];
  const asked: string[] = [];
  context.on("weberror", (error: { readonly error: () => Error }) => void problems.push(String(error.error())));
  context.on("console", (message: { readonly type: () => string; readonly text: () => string }) => {
    if (message.type() === "error") problems.push(message.text());
  });
  context.on("request", (request: { readonly url: () => string }) => void asked.push(request.url()));
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme });
  await page.goto(`${served.url}/`);
  const elsewhere = () => asked.filter((url) => !url.startsWith(served.url) && !url.startsWith("data:"));
  return { page, problems, elsewhere, url: served.url };
}

/** No part of the page is wider than the window. */
async function fits(page: Page): Promise<void> {
  const [content, window] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, window.innerWidth]",
  );
  expect(content).toBeLessThanOrEqual(window);
}

describe.each(cases)("at $width pixels, $colorScheme", (look) => {
  test("the first page says what Pawl is, a word is found, and links lead on", async () => {
    const { page, problems, elsewhere, url } = await openSite(look);
    await page.getByRole("heading", { name: /Agents that survive crashes/ }).waitFor();
    await page.getByText(/durable agent loop for TypeScript: if its process is killed/).waitFor();
    expect(await page.evaluate<boolean>("document.documentElement.classList.contains('dark')")).toBe(
      look.colorScheme === "dark",
    );
    expect(await page.evaluate<number>("document.querySelectorAll('.vp-code span[style]').length")).toBeGreaterThan(20);
    await fits(page);

    await page.getByRole("link", { name: "Get started" }).click();
    await page.getByRole("heading", { name: "Getting started" }).waitFor();
    await fits(page);
    await page
      .locator(".vp-doc a", { hasText: /^Concepts$/i })
      .first()
      .click();
    await page.getByRole("heading", { name: "What happens after a kill" }).waitFor();
    expect(page.url()).toBe(`${url}/docs/guide/concepts.html`);

    await page.locator(".VPNavBarSearch button").first().click();
    await page.locator(".VPLocalSearchBox input").fill("idempotency");
    // The list moves while its texts come, and a click at a place would meet another result.
    const found = ".VPLocalSearchBox a.result[href*='side-effects']";
    await page.locator(found).first().waitFor();
    await page.evaluate(`document.querySelector("${found}").click()`);
    await page.locator("h1", { hasText: /Side effects and kills/ }).waitFor();
    await fits(page);
    expect({ problems, elsewhere: elsewhere() }).toEqual({ problems: [], elsewhere: [] });
  });
});

test("pictures of the site, if PAWL_PICTURES names a folder", async () => {
  const { page, problems, url } = await openSite({ width: 1440, height: 900, colorScheme: "light" });
  for (const [name, path] of [
    ["home", "/"],
    ["guide", "/docs/guide/"],
    ["tools", "/docs/guide/tools.html"],
    ["errors", "/docs/errors.html"],
    ["example", "/examples/durable.ts.html"],
  ] as const) {
    await page.goto(`${url}${path}`);
    await page.locator("h1").first().waitFor();
    await takePictures(page, `site-${name}`);
  }
  expect(problems).toEqual([]);
});
