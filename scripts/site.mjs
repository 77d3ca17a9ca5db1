/**
 * Builds the documentation as a static site: `npm run site` writes temp/site, and checks its links and anchors.
 *
 *     npm run site                  builds and checks
 *     npm run site -- --serve       the same, and then serves it on http://127.0.0.1:4180
 *
 * The pages are the project's Markdown as it is. The generator (VitePress) is installed on demand into scripts/site/node_modules.
 */
import { existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { installOnDemand } from "./install-on-demand.mjs";
import { problemsOf } from "./site/check.mjs";
import { serve } from "./site/serve.mjs";
import { stage } from "./site/stage.mjs";

const folder = resolve("scripts/site");
const staged = resolve("temp/site-source");
const built = resolve("temp/site");

if (!existsSync("docs")) throw new Error("Run this script in the project's folder.");
installOnDemand(folder, "what builds the site into scripts/site/node_modules (about 100 MB)");
rmSync(staged, { recursive: true, force: true });
rmSync(built, { recursive: true, force: true });
const pages = stage(staged);

const vitepress = createRequire(resolve(folder, "package.json")).resolve("vitepress");
const { build } = await import(pathToFileURL(vitepress).href);
await build(folder);

const problems = problemsOf(built);
for (const problem of problems) console.error(problem);
console.log(`${pages} pages in temp/site, ${problems.length} problems.`);
process.exitCode = problems.length > 0 ? 1 : 0;

if (process.argv.includes("--serve") && problems.length === 0) {
  const { url } = await serve(built, 4180);
  console.log(`The site is at ${url} until Ctrl-C.`);
}
