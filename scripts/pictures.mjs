/**
 * Makes docs/pictures/run.svg, the moving picture of the README: a run in a terminal, killed and carried on.
 *
 *     npm run pictures               records the run and draws the picture
 *     npm run pictures -- --check    records it and fails if the picture shows something else; numbers and ids may differ
 *
 * Needs the built package. The model is the demo model, and everything else is real: a shell on a pseudo-terminal, the command `pawl`,
 * and SIGKILL.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { drawing, textOf } from "./pictures/draw.mjs";
import { recordRun } from "./pictures/record.mjs";

const file = "docs/pictures/run.svg";
const frames = await recordRun();

if (!process.argv.includes("--check")) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, drawing(frames));
  console.log(`${file}: ${frames.length} frames.`);
} else if (masked(textOf(drawing(frames))) !== masked(textOf(readFileSync(file, "utf8")))) {
  console.error(`${file} does not show what the command prints now. Look at it, then draw it again: npm run pictures`);
  console.error(`It shows:\n${textOf(readFileSync(file, "utf8"))}\nThe command prints:\n${textOf(drawing(frames))}`);
  process.exitCode = 1;
} else console.log(`${file} shows what the command prints.`);

/** Without what differs from run to run: ids, times and counts of tokens, and the columns that they take. */
function masked(text) {
  return text
    .replace(/\b[0-9a-f]{8}\b/g, "ID")
    .replace(/\d[\d,.]*/g, "N")
    .replace(/\b(ms|s|min)\b/g, "TIME")
    .replace(/ +/g, " ");
}
