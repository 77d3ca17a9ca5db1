/**
 * A file has one idea, and a function fits on a screen. Nobody can count ideas, so this asks about every source file of more than 400
 * lines and every function of more than 75: split it, or list it here with the reason why it is one idea all the same.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { questionsAbout } from "./sizes.mjs";

/** A path, or `path#name` for a function → why it is one idea. */
const reasons = {
  "src/models/facts/prices.generated.ts": "one table, written by scripts/prices.mjs",
};

const files = readdirSync("src", { recursive: true })
  .filter((file) => /[.]tsx?$/.test(file))
  .map((file) => join("src", file).replaceAll("\\", "/"))
  .map((path) => ({ path, text: readFileSync(path, "utf8") }));

const questions = questionsAbout(files, reasons);
for (const question of questions) console.error(question);
process.exitCode = questions.length > 0 ? 1 : 0;
