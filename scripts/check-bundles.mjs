/**
 * Checks the bundles of the package: `.` and `./core` stay small, and `./core` runs in a browser.
 *
 * The browser bundle runs in a context with the language and the browser's text classes, without Node and without
 * `eval`. There it walks the machine through almost all events, and plays recorded sessions. The outcome must be the same as
 * in Node.
 *
 * Importing `.` loads no other package, because each would slow the start of a program.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { createContext, Script } from "node:vm";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { work } from "./bundles/core-work.mjs";

/**
 * The maximum size of each entry, minified and compressed, including the code of other packages. croner, which computes the slots of
 * schedules and is loaded with the first one, is 10 KiB of `.`.
 */
const mostKibibytes = { ".": 244, "./core": 31 };
const recordings = "test/golden/released/0.1.0";

const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
for (const [entry, most] of Object.entries(mostKibibytes)) {
  const { code } = await bundle(exports[entry].default, "node", { format: "esm", minify: true });
  const kibibytes = gzipSync(code).length / 1024;
  console.log(`${entry}: ${kibibytes.toFixed(1)} KiB, minified and compressed; the limit is ${most} KiB.`);
  if (kibibytes > most) process.exitCode = 1;
}

const main = await bundle(exports["."].default, "node", { format: "esm" }, (id) => /^[^./]/.test(id));
assert.deepEqual(
  main.imports.filter((id) => !isBuiltin(id)),
  [],
  "Importing . loads other packages.",
);

const { code, imports } = await bundle("scripts/bundles/core-work.mjs", "browser", { format: "iife", name: "bundle" });
assert.deepEqual(imports, [], "The bundle of ./core for a browser leaves modules out.");
const sessions = JSON.stringify(recordedSessions());
const browser = createContext(
  { TextEncoder, TextDecoder, sessions },
  { codeGeneration: { strings: false, wasm: false } },
);
new Script(code).runInContext(browser);
const outcome = new Script("bundle.work(sessions)").runInContext(browser);
assert.deepEqual(JSON.parse(outcome), JSON.parse(work(sessions)));
console.log(`./core walks its machine and plays ${JSON.parse(sessions).length} sessions as a browser bundle.`);

/** Bundles an entry and its dependencies into one file. */
async function bundle(input, platform, options, external = () => false) {
  const build = await rolldown({ input, platform, external, onLog: () => {} });
  const { output } = await build.generate({ codeSplitting: false, ...options });
  await build.close();
  assert.equal(output.length, 1);
  return output[0];
}

function recordedSessions() {
  return readdirSync(recordings).flatMap((file) => {
    const { sessions } = JSON.parse(readFileSync(join(recordings, file), "utf8"));
    return sessions.map(({ rows }) => rows.flatMap(({ events }) => events));
  });
}
