/**
 * Takes the pictures of docs/inspector anew: `npm run pictures:inspector`.
 *
 * The tests of the inspector make sessions by real runs, open them in Chromium, and take pictures of each screen in three sizes, light and
 * dark, if PAWL_PICTURES names a folder for them. This script runs them and keeps the pictures that the pages show. Needs the built
 * package, and fonts for Arabic, Chinese, Japanese, Korean and emoji: fonts-noto-core, fonts-noto-cjk and fonts-noto-color-emoji on Debian.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const pages = "docs/inspector";
const taken = resolve("temp/inspector-pictures");
const names = ["children", "fork", "live", "many-steps", "screens", "session-page", "states", "tabs", "writing"];
const tests = names.map((name) => `test/inspector/${name}.long.test.ts`);

/** A picture of the pages → the picture of a test: screen, size and colours. */
const shown = {
  "answered.png": "answered-middle-light",
  "arabic.png": "arabic-middle-light",
  "approvals.png": "approvals-wide-dark",
  "child.png": "child-wide-light",
  "children.png": "children-middle-dark",
  "cost-phone.png": "cost-narrow-dark",
  "cost.png": "cost-wide-light",
  "eastern-phone.png": "eastern-narrow-dark",
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

rmSync(taken, { recursive: true, force: true });
const { status } = spawnSync("npx", ["vitest", "run", "--project", "long", ...tests], {
  stdio: "inherit",
  env: { ...process.env, PAWL_PICTURES: taken },
});
const problems = [
  ...(status === 0 ? [] : ["The tests of the inspector failed."]),
  ...Object.values(shown)
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
  console.log(`${pages}: ${Object.keys(shown).length} pictures.`);
}
