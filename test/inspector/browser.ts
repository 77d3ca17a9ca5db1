/**
 * Chromium, and the inspector of a server in it.
 */

import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
// @ts-expect-error a script without types
import { chromium as findChromium } from "../../scripts/chromium.mjs";
import type { Rig } from "../server/rig.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { findClipped, findLowContrast } from "./measure-page.js";

// The types of playwright-core are not in this project: the tests name what they use.
export type Locator = {
  readonly click: () => Promise<void>;
  readonly fill: (text: string) => Promise<void>;
  readonly waitFor: (options?: { readonly state?: "visible" | "hidden"; readonly timeout?: number }) => Promise<void>;
  readonly textContent: () => Promise<string | null>;
  /** What assistive technology is told, as indented lines. */
  readonly ariaSnapshot: () => Promise<string>;
  readonly inputValue: () => Promise<string>;
  readonly count: () => Promise<number>;
  readonly first: () => Locator;
  readonly nth: (index: number) => Locator;
  readonly locator: (selector: string, options?: { readonly hasText?: string | RegExp }) => Locator;
  readonly getByText: (text: string | RegExp, options?: { readonly exact?: boolean }) => Locator;
  readonly getByRole: (
    role: string,
    options?: { readonly name?: string | RegExp; readonly exact?: boolean },
  ) => Locator;
  readonly getAttribute: (name: string) => Promise<string | null>;
};

export type Page = Locator & {
  readonly goto: (url: string) => Promise<unknown>;
  readonly reload: () => Promise<unknown>;
  readonly url: () => string;
  /** Takes the place of the network for these addresses. */
  readonly route: (
    addresses: string,
    answer: (request: { readonly abort: () => Promise<void> }) => Promise<void>,
  ) => Promise<void>;
  readonly unroute: (addresses: string) => Promise<void>;
  readonly keyboard: {
    readonly press: (key: string) => Promise<void>;
    readonly type: (text: string) => Promise<void>;
  };
  readonly setViewportSize: (size: { readonly width: number; readonly height: number }) => Promise<void>;
  readonly emulateMedia: (options: {
    readonly colorScheme?: "light" | "dark";
    readonly reducedMotion?: "reduce" | "no-preference";
  }) => Promise<void>;
  readonly screenshot: (options: { readonly path: string }) => Promise<unknown>;
  readonly evaluate: <Result>(script: string) => Promise<Result>;
  readonly waitForFunction: (script: string) => Promise<unknown>;
};

export type Context = {
  readonly newPage: () => Promise<Page>;
  readonly close: () => Promise<void>;
  readonly setDefaultTimeout: (ms: number) => void;
  /** The protocol of DevTools. */
  readonly newCDPSession: (page: Page) => Promise<{
    readonly send: (method: string) => Promise<unknown>;
    readonly detach: () => Promise<void>;
  }>;
  readonly setOffline: (isOffline: boolean) => Promise<void>;
  readonly on: (event: string, listener: (given: never) => void) => void;
};

type Browser = {
  readonly newContext: (options?: {
    readonly viewport?: { readonly width: number; readonly height: number };
  }) => Promise<Context>;
  readonly close: () => Promise<void>;
};

/** Chromium, closed when the test ends. */
export async function openBrowser(flags: readonly string[] = []): Promise<Browser> {
  const { chromium } = createRequire(resolveCheckTool("playwright-core/package.json"))("playwright-core") as {
    readonly chromium: { readonly launch: (options: object) => Promise<Browser> };
  };
  const browser = await chromium.launch({
    executablePath: findChromium() as string,
    args: ["--no-sandbox", "--disable-gpu", ...flags],
  });
  onTestFinished(() => browser.close());
  return browser;
}

export type InspectorPage = {
  readonly page: Page;
  readonly context: Context;
  /** Errors of the page, and what its policy refused. */
  readonly problems: readonly string[];
  /** The addresses that were asked for. */
  readonly requestedUrls: readonly string[];
};

/** A new person's browser, which the server lets in by a start link. */
export async function openInspector(
  browser: Browser,
  { url, server }: Pick<Rig, "url" | "server">,
  { path = "", viewport = { width: 1440, height: 900 } } = {},
): Promise<InspectorPage> {
  const context = await browser.newContext({ viewport });
  context.setDefaultTimeout(30_000);
  const problems: string[] = [];
  const requestedUrls: string[] = [];
  context.on("weberror", (error: { readonly error: () => Error }) => void problems.push(String(error.error())));
  context.on("console", (message: { readonly type: () => string; readonly text: () => string }) => {
    if (message.type() === "error" && !message.text().includes("net::ERR_")) problems.push(message.text());
  });
  context.on("request", (request: { readonly url: () => string }) => void requestedUrls.push(request.url()));
  const page = await context.newPage();
  await page.goto(`${url}${path}/#start=${server.createStartCode()}`);
  await page.getByRole("link", { name: "Pawl" }).waitFor();
  return { page, context, problems, requestedUrls };
}

/** Presses a key until what it opens is there. A call that has just appeared ignores the keys that answer it. */
export async function pressUntil(page: Page, key: string, target: Locator): Promise<void> {
  const isTargetOpen = async () => (await target.count()) > 0;
  const pressOnce = async () => {
    if (await isTargetOpen()) return true;
    await page.keyboard.press(key);
    return isTargetOpen();
  };
  await expect.poll(pressOnce).toBe(true);
}

const sizes = [
  ["wide", 1440, 900],
  ["middle", 1024, 768],
  ["narrow", 390, 844],
] as const;

/**
 * A screen in three sizes, light and dark: whatever is written on it can be read, and nothing is beyond its edges. Takes a
 * picture of each if PAWL_PICTURES names a folder for them.
 */
export async function expectReadable(page: Page, name: string): Promise<void> {
  const issues: string[] = [];
  await takePictures(page, name, async (screen) => {
    const texts = [...(await findLowContrast(page)), ...(await findClipped(page))];
    issues.push(...texts.map((text) => `${screen}: ${text}`));
  });
  expect(issues).toEqual([]);
}

/** Takes pictures of a page if PAWL_PICTURES names a folder for them. `measure` is called at each size, in light and dark. */
export async function takePictures(
  page: Page,
  name: string,
  measure?: (screen: string) => Promise<void>,
): Promise<void> {
  const folder = process.env.PAWL_PICTURES;
  if (folder === undefined && measure === undefined) return;
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  for (const [size, width, height] of sizes) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await awaitDrawn(page);
      const screen = `${name}-${size}-${colorScheme}`;
      if (folder !== undefined) await page.screenshot({ path: join(folder, `${screen}.png`) });
      await measure?.(screen);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1440, height: 900 });
  await awaitDrawn(page);
}

/** The page has drawn what it was told. */
async function awaitDrawn(page: Page): Promise<void> {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}
