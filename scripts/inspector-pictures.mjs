/**
 * Takes the pictures of docs/inspector anew: `npm run pictures:inspector`. With `-- --taken` it draws from those that were taken last.
 *
 * The tests of the inspector make sessions by real runs, open them in Chromium, and take pictures of each screen in three sizes, light and
 * dark, if PAWL_PICTURES names a folder for them. This script runs them, keeps the pictures that the pages show, and puts the six of each
 * screen on one sheet. Needs the built package, and fonts for Arabic, Chinese, Japanese, Korean and emoji: fonts-noto-core,
 * fonts-noto-cjk and fonts-noto-color-emoji on Debian.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { chromium } from "./chromium.mjs";

const pages = "docs/inspector";
const taken = resolve("temp/inspector-pictures");
const names = [
  "children",
  "evals",
  "fork",
  "live",
  "many-steps",
  "screens",
  "session-page",
  "states",
  "tabs",
  "writing",
];
const tests = names.map((name) => `test/inspector/${name}.long.test.ts`);

/** A picture of the pages → the picture of a test: screen, size and colors. */
const shown = {
  "answered.png": "answered-middle-light",
  "arabic.png": "arabic-middle-light",
  "approvals.png": "approvals-wide-dark",
  "child.png": "child-wide-light",
  "children.png": "children-middle-dark",
  "cost-phone.png": "cost-narrow-dark",
  "cost.png": "cost-wide-light",
  "eastern-phone.png": "eastern-narrow-dark",
  "evals.png": "evals-middle-light",
  "fork.png": "fork-middle-light",
  "hundred.png": "hundred-wide-dark",
  "kept.png": "kept-middle-dark",
  "log.png": "log-wide-dark",
  "many-steps.png": "many-steps-wide-light",
  "offline-phone.png": "offline-narrow-light",
  "phone.png": "approval-narrow-light",
  "replay.png": "replay-middle-light",
  "request.png": "request-wide-light",
  "session.png": "session-wide-light",
  "sessions.png": "sessions-wide-light",
  "step-phone.png": "step-narrow-dark",
  "waterfall.png": "waterfall-middle-dark",
};

/** The screens whose six pictures docs/inspector/screens.md shows. */
const screens = [
  ...["sessions", "children", "hundred", "session", "step", "attempts", "compaction", "waterfall", "many-steps"],
  ...[
    "child",
    "markdown",
    "kept",
    "raw",
    "request",
    "request-attempts",
    "approvals",
    "approval",
    "edit",
    "deny",
    "form",
  ],
  ...[
    "answered",
    "log",
    "fork",
    "replay",
    "label",
    "evals",
    "elsewhere",
    "cost",
    "find",
    "open",
    "keys",
    "live",
    "empty",
    "failed",
  ],
  ...["offline", "arabic", "eastern", "emoji"],
];
const sheets = `${pages}/screens`;
const sizes = [
  ["wide", 1440, 900],
  ["middle", 1024, 768],
  ["narrow", 390, 844],
];
const colors = ["light", "dark"];
const picturesOf = (screen) => sizes.flatMap(([size]) => colors.map((color) => `${screen}-${size}-${color}`));

const isTaken = process.argv.includes("--taken");
if (!isTaken) rmSync(taken, { recursive: true, force: true });
const { status } = isTaken
  ? { status: 0 }
  : spawnSync("npx", ["vitest", "run", "--project", "long", ...tests], {
      stdio: "inherit",
      env: { ...process.env, PAWL_PICTURES: taken },
    });
const problems = [
  ...(status === 0 ? [] : ["The tests of the inspector failed."]),
  ...[...Object.values(shown), ...screens.flatMap(picturesOf)]
    .filter((name) => !existsSync(join(taken, `${name}.png`)))
    .map((name) => `No test has taken the picture ${name}.`),
  ...readdirSync(pages)
    .filter((name) => name.endsWith(".png") && !(name in shown))
    .map(
      (name) =>
        `${pages}/${name} is made by no test. Name its picture in scripts/inspector-pictures.mjs, or remove it.`,
    ),
];

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else {
  for (const [file, name] of Object.entries(shown)) copyFileSync(join(taken, `${name}.png`), join(pages, file));
  const bytes = await writeSheets();
  console.log(
    `${pages}: ${Object.keys(shown).length} pictures, ${screens.length} sheets (${Math.round(bytes / 1_000)} kB).`,
  );
}

/** Draws the sheets, and the strip of the README, in Chromium. Gives their size together. */
async function writeSheets() {
  const { chromium: playwright } = createRequire(resolve("scripts/checks/package.json"))("playwright-core");
  const browser = await playwright.launch({ executablePath: chromium(), args: ["--no-sandbox", "--disable-gpu"] });
  rmSync(sheets, { recursive: true, force: true });
  mkdirSync(sheets, { recursive: true });
  let bytes = 0;
  try {
    const page = await browser.newPage();
    const draw = async (file, given) => {
      const images = given.names.map((name) => readFileSync(join(taken, `${name}.png`), "base64"));
      const sheet = Buffer.from(await page.evaluate(drawSheet, { ...given, images }), "base64");
      writeFileSync(join(pages, file), sheet);
      bytes += sheet.length;
    };
    for (const screen of screens) await draw(`screens/${screen}.webp`, sheetOf(screen));
    await draw("strip.webp", stripOf(["session-wide-light", "waterfall-middle-dark", "approval-narrow-light"]));
  } finally {
    await browser.close();
  }
  return bytes;
}

/** Where each of the six pictures of a screen is: light above dark, wide to narrow. */
function sheetOf(screen) {
  const [scale, gap] = [0.6, 16];
  const tallest = Math.max(...sizes.map(([, , high]) => high)) * scale;
  let left = gap;
  const places = sizes.flatMap(([, wide, high]) => {
    const at = [0, 1].map((row) => [left, gap + row * (tallest + gap), wide * scale, high * scale]);
    left += wide * scale + gap;
    return at;
  });
  return { names: picturesOf(screen), places, width: left, height: 2 * tallest + 3 * gap };
}

/** Pictures beside each other, of one height. */
function stripOf(names) {
  const [height, gap] = [560, 12];
  let left = gap;
  const places = names.map((name) => {
    const [, wide, high] = sizes.find(([size]) => name.includes(`-${size}-`));
    const width = Math.round((wide * height) / high);
    left += width + gap;
    return [left - width - gap, gap, width, height];
  });
  return { names, places, width: left, height: height + 2 * gap };
}

/** Runs in the page. Gives a WebP: a PNG of the same is three to four times as large. */
async function drawSheet({ images, places, width, height }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.fillStyle = "#8a8f98";
  context.fillRect(0, 0, width, height);
  for (const [index, place] of places.entries()) {
    const image = new Image();
    image.src = `data:image/png;base64,${images[index]}`;
    await image.decode();
    context.drawImage(image, ...place);
  }
  return canvas.toDataURL("image/webp", 0.85).split(",")[1];
}
