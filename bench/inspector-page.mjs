/**
 * The inspector in Chromium: how large its script is, how soon a session of many steps is on screen, and how long the browser is
 * between two frames while somebody scrolls through it. Sessions are in memory, on a server of this process.
 */

import { createServer as createHttpServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { createServer, createToken } from "../dist/server/index.js";
import { chromium as findChromium } from "../scripts/chromium.mjs";
import { median } from "./report.mjs";

/** Places to which the list is scrolled, one after another. */
const jumps = 200;

/** The bytes of the script and of the style sheet, as a browser gets them. */
export async function sizesOfPage() {
  const { files } = await import("../dist/inspector/files.js");
  const packed = (type) =>
    files.filter((file) => file.type.startsWith(type)).reduce((sum, { text }) => sum + gzipSync(text).length, 0);
  return { script: packed("text/javascript"), style: packed("text/css") };
}

async function onServer(store, work) {
  const http = createHttpServer((request, response) => server.listener(request, response));
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  const server = createServer({ store, agents: [], work: false, ui: true, token: createToken() });
  const { chromium } = createRequire(resolve("scripts/checks/node_modules/playwright-core/package.json"))(
    "playwright-core",
  );
  const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox", "--disable-gpu"] });
  try {
    return await work(await browser.newPage(), `http://127.0.0.1:${http.address().port}`, server.createStartCode());
  } finally {
    await browser.close();
    await server.close({ graceMs: 100 });
    http.closeAllConnections();
    await new Promise((done) => http.close(done));
  }
}

/** What is measured in the page: it waits for itself, so that no message between two processes is counted. */
const opening = (sessionId, end) => `new Promise((done) => {
  const before = performance.now();
  const look = () => {
    const answer = document.querySelector("article.final");
    if (answer?.textContent.includes(${JSON.stringify(end)}) !== true) return void requestAnimationFrame(look);
    requestAnimationFrame(() => done(performance.now() - before));
  };
  location.hash = ${JSON.stringify(`#/sessions/${sessionId}`)};
  requestAnimationFrame(look);
})`;

/** Waits within the page: the page's own policy forbids the code that `waitForFunction` would make of a text. */
const loading = (steps) => `new Promise((done, fail) => {
  const end = performance.now() + 120_000;
  const look = () => {
    const facts = document.querySelector(".session-head .facts")?.textContent ?? "";
    if (document.querySelector(".step-list .loading") === null && facts.includes("${steps.toLocaleString("en")}")) return done();
    if (performance.now() > end) return fail(new Error("The steps did not come within two minutes."));
    requestAnimationFrame(look);
  };
  look();
})`;

const scrolling = `(async () => {
  const list = document.querySelector(".step-list .windowed");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const times = [];
  let place = 12_345;
  let last = await frame();
  for (let jump = 0; jump < ${jumps}; jump += 1) {
    place = (place * 1_103_515_245 + 12_345) % 2_147_483_648;
    list.scrollTop = (place / 2_147_483_648) * (list.scrollHeight - list.clientHeight);
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return { times, rows: list.querySelectorAll(".line").length };
})()`;

/**
 * @param sessionId a session in the store; `end` is in its last answer, `steps` is how many it has
 * @returns milliseconds until it is on screen for the first time and later, and between two frames of scrolling
 */
export async function measurePage(store, { sessionId, steps, end, rounds = 9 }) {
  return onServer(store, async (page, url, code) => {
    await page.goto(`${url}/#start=${code}`);
    await page.locator("#session-0").waitFor();
    const first = await page.evaluate(opening(sessionId, end));
    const again = [];
    for (let round = 0; round < rounds; round += 1) {
      await page.goto(`${url}/#/`);
      await page.locator("#session-0").waitFor();
      again.push(await page.evaluate(opening(sessionId, end)));
    }
    await page.evaluate(loading(steps));
    const { times, rows } = await page.evaluate(scrolling);
    const sorted = times.toSorted((a, b) => a - b);
    const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
    return { first, again: median(again), scrollMedian: at(0.5), scroll95: at(0.95), rows };
  });
}
