/**
 * What a bundler makes of the package: `.` and `./core` stay small, and `./core` runs in a browser.
 *
 * The bundle for a browser is run in a context that has the language and what browsers have for texts, nothing of Node, and no `eval`:
 * there it walks the machine through all that can happen and plays recorded sessions, with the same outcome as here.
 *
 * Importing `.` loads no other package: each would be a good part of what a program waits for when it starts.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { createContext, Script } from "node:vm";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { work } from "./bundles/core-work.mjs";

/** Minified and compressed, with all that it needs of other packages. */
const mostKibibytes = { ".": 96, "./core": 18 };
const recordings = "test/golden/v1";

const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
for (const [entry, most] of Object.entries(mostKibibytes)) {
  const { code } = await bundle(exports[entry].default, "node", { format: "esm", minify: true });
  const kibibytes = gzipSync(code).length / 1024;
  console.log(`${entry}: ${kibibytes.toFixed(1)} KiB, minified and compressed; ${most} KiB is the most.`);
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
console.log(`./core walks its machine and plays ${JSON.parse(sessions).length} sessions as a browser's bundle.`);

/** One file, with everything in it that can be. */
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
