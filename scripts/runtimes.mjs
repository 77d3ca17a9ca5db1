/**
 * Runs Pawl, as it is built, in other runtimes than Node:
 *
 *     npm run runtimes                      in all of them
 *     npm run runtimes -- workerd,bun       in these
 *
 *   workerd, chromium   scripts/runtimes/edge-program.mjs, bundled with the conditions of the runtime, does there what it does in Node
 *   bun, deno           the examples, and the store conformance suite on the stores in memory and in SQLite
 *
 * With PAWL_SHARE=K/N, as continuous integration sets it, the examples run in Bun if K is even, and in Deno if it is odd.
 *
 * scripts/runtimes/binaries.mjs installs workerd, Bun and Deno. Chromium is the one in CHROMIUM or on the
 * PATH. On Debian, root gets it from apt.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { chromium } from "./chromium.mjs";
import { folder, install, leftOut, run, start, timeoutMs } from "./runtimes/binaries.mjs";
import { runProgram } from "./runtimes/edge-program.mjs";

const checks = {
  workerd: inWorkerd,
  chromium: inChromium,
  bun: () => withExamples("bun"),
  deno: () => withExamples("deno"),
};

if (process.platform !== "linux" || process.arch !== "x64") {
  console.log("The other runtimes were not installed: this is not Linux on x64.");
} else {
  const asked = process.argv[2]?.split(",") ?? Object.keys(checks);
  const unknown = asked.find((name) => checks[name] === undefined);
  if (unknown !== undefined)
    throw new Error(`There is no runtime ${unknown}. There are: ${Object.keys(checks).join(", ")}.`);
  for (const name of asked) await checks[name]();
}

/** What the program finds in Node. Other runtimes must find the same, but for models by name. */
async function expected() {
  const found = await runProgram();
  assert.equal(found.result.status, "completed");
  assert.deepEqual(found.paid, [500]);
  return JSON.stringify({ ...found, namedModel: "needs_node" });
}

async function inWorkerd() {
  const binary = install("workerd");
  const bundle = await bundleFor(["workerd"], "workerd");
  const test = join(folder, "worker.mjs");
  writeFileSync(
    test,
    `import { runProgram } from "./${bundle}";
const expected = ${JSON.stringify(await expected())};
export default {
  async test() {
    const found = JSON.stringify(await runProgram());
    if (found !== expected) throw new Error("In workerd: " + found + "\\nIn Node: " + expected);
  },
};
`,
  );
  const config = join(folder, "workerd.capnp");
  // No flag: neither the modules of Node nor its globals.
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)]);
const worker :Workerd.Worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"),
    (name = "${bundle}", esModule = embed "${bundle}"),
  ],
  compatibilityDate = "2026-01-01",
);
`,
  );
  const { status, output } = run(binary, ["test", config]);
  if (status !== 0) throw new Error(`The program failed in workerd:\n${output}`);
  console.log("workerd: an agent with tools, an approval, a child and the memory store does what it does in Node.");
}

async function inChromium() {
  const binary = chromium();
  const bundle = await bundleFor(["browser"], "browser");
  const page = `<!doctype html><script type="module">
import { runProgram } from "./${bundle}";
const found = await runProgram().then(JSON.stringify, (error) => String(error.stack ?? error));
await fetch("/found", { method: "POST", body: found });
</script>`;
  const found = await new Promise((onFound, onFailed) => {
    const server = createServer(async (request, response) => {
      if (request.method === "POST") {
        const chunks = await collect(request);
        response.end();
        finish(() => onFound(Buffer.concat(chunks).toString()));
      } else if (request.url === `/${bundle}`) {
        response.setHeader("content-type", "text/javascript").end(readFileSync(join(folder, bundle)));
      } else response.setHeader("content-type", "text/html").end(page);
    });
    const profile = mkdtempSync(join(tmpdir(), "pawl-chromium-"));
    let browser;
    let timer;
    const finish = (then) => {
      clearTimeout(timer);
      server.close();
      server.closeAllConnections();
      if (browser !== undefined && browser.exitCode === null) {
        // Chromium's child processes may write into the folder for seconds after it has ended.
        browser.once("close", () => rmSync(profile, { recursive: true, force: true, maxRetries: 20 }));
        browser.kill();
      }
      then();
    };
    timer = setTimeout(() => finish(() => onFailed(new Error("Chromium gave no answer."))), timeoutMs);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      const options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        `--user-data-dir=${profile}`,
      ];
      browser = spawn(binary, [...options, `http://127.0.0.1:${port}/`], { stdio: "ignore" });
      browser.on("error", (error) => finish(() => onFailed(error)));
    });
  });
  assert.equal(found, await expected());
  console.log("Chromium: an agent with tools, an approval, a child and the memory store does what it does in Node.");
}

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** Bundles the program as an application of that runtime does. Tells the size of Pawl in it. */
async function bundleFor(conditionNames, name) {
  mkdirSync(folder, { recursive: true });
  const file = `program-${name}.mjs`;
  const build = await rolldown({
    input: "scripts/runtimes/edge-program.mjs",
    platform: "browser",
    resolve: { conditionNames: [...conditionNames, "import", "default"] },
  });
  const { output } = await build.write({ file: join(folder, file), format: "esm", codeSplitting: false, minify: true });
  await build.close();
  const needed = output.flatMap(({ imports = [] }) => imports);
  assert.deepEqual(
    needed.filter((id) => isBuiltin(id)),
    [],
    "The bundle needs modules of Node.",
  );
  assert.deepEqual(needed, [], "The bundle leaves modules out.");
  const kibibytes = gzipSync(output[0].code).length / 1024;
  console.log(`${name}: ${kibibytes.toFixed(1)} KiB, minified and compressed, with the checks by JSON Schema.`);
  return file;
}

function withExamples(name) {
  const binary = install(name);
  const conformance = run(binary, [...start[name], "scripts/runtimes/conformance.mjs"]);
  if (conformance.status !== 0)
    throw new Error(`The store conformance suite failed in ${name}:\n${conformance.output}`);
  console.log(`${name}: the store conformance suite: ${conformance.output.trim().split("\n").at(-1)}.`);
  const share = /^(\d+)\/\d+$/.exec(process.env.PAWL_SHARE ?? "");
  if (share !== null && (Number(share[1]) % 2 === 0) !== (name === "bun")) return;
  const examples = run(process.execPath, ["scripts/examples.mjs", "--in", name], { timeout: 5 * timeoutMs });
  if (examples.status !== 0) throw new Error(`Examples failed in ${name}:\n${examples.output}`);
  const without = leftOut[name].length === 0 ? "" : `, without ${leftOut[name].join(", ")}`;
  console.log(`${name}: ${examples.output.match(/^passed /gm)?.length ?? 0} examples passed${without}.`);
}
