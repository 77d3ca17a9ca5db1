/**
 * Runs the conformance suite of the Model Context Protocol against Pawl's client and server, for both revisions of the protocol that
 * Pawl speaks.
 *
 *     npm run conformance                     everything
 *     npm run conformance -- client           only the client; or: server
 *     npm run conformance -- --verbose        with the whole output of the suite
 *     npm run conformance -- --results DIR    keeps the files that the suite writes for each scenario
 *
 * scripts/conformance/expected-REVISION.yml names each failing check and the reason why it stays. A check that fails and is not listed
 * there, or that is listed and passes, fails the script. The suite needs Node 22 and packages of its own. Both are installed when they are
 * missing. Pawl itself runs from dist: build after a change.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startClient } from "./conformance/client.mjs";
import { startServer } from "./conformance/server.mjs";
import { nodeOf } from "./install-node.mjs";
import { installOnDemand } from "./install-on-demand.mjs";

const revisions = ["2026-07-28", "2025-11-25"];
const suiteFolder = "scripts/conformance/suite";
const program = `${suiteFolder}/node_modules/@modelcontextprotocol/conformance/dist/index.js`;

const { values, positionals } = parseArgs({
  options: { verbose: { type: "boolean" }, results: { type: "string" } },
  allowPositionals: true,
});
const roles = positionals.length > 0 ? positionals : ["client", "server"];

const node = Number.parseInt(process.versions.node, 10) >= 22 ? process.execPath : nodeOf(22);
if (node === null) {
  console.log("The conformance suite was not run: it needs Node 22 or later.");
  process.exit(0);
}
installOnDemand(suiteFolder, "the conformance suite");

const client = await startClient();
const server = await startServer();
const results = values.results ?? mkdtempSync(join(tmpdir(), "pawl-conformance-"));
const targets = {
  client: ["--command", `${process.execPath} scripts/conformance/forward.mjs ${client.url}`],
  server: ["--url", server.url],
};
let failed = 0;
for (const revision of revisions)
  for (const role of roles) {
    const { code, output } = await runSuite(role, revision);
    const summary = output.slice(Math.max(0, output.indexOf("=== ")));
    console.log(`── ${role}, ${revision}\n${values.verbose || code !== 0 ? output : summary}`);
    if (code !== 0) failed += 1;
  }
if (values.results === undefined) rmSync(results, { recursive: true, force: true });
client.close();
await server.close();
process.exit(failed === 0 ? 0 : 1);

function runSuite(role, revision) {
  const options = ["--requirements", revision, "--expected-failures", `scripts/conformance/expected-${revision}.yml`];
  return new Promise((resolve, reject) => {
    const child = spawn(node, [program, role, ...targets[role], ...options, "--timeout", "300000", "-o", results], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}
