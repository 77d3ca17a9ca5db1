/**
 * Builds the inspector, the page of `pawl ui`: src/inspector becomes dist/inspector/files.js, a module with all files of the page as
 * texts. So a server serves them from memory, wherever it runs and however it was bundled. Their names have a hash of their content, except
 * that of the service worker, which a browser keeps under its address.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rolldown } from "rolldown";

const folder = "dist/inspector";

/** The style sheets, in the order of the cascade: what all screens have, then each screen's own. */
const sheets = [
  ...["base", "controls", "frame", "parts"],
  ...[
    "list",
    "session",
    "step",
    "markdown",
    "time",
    "find",
    "request",
    "approvals",
    "log",
    "cost",
    "fork",
    "evals",
    "schedules",
    "help",
  ],
];

/** Bundles the page. Returns the files of other packages in the bundle. */
export async function buildInspector() {
  const output = await bundle("main.tsx", "esm");
  const worker = await bundle("service-worker.ts", "iife");
  const script = named("inspector", "js", "text/javascript", output[0].code);
  const style = named("inspector", "css", "text/css", smaller(sheets.map(sheetOf).join("\n")));
  const serviceWorker = { name: "service-worker.js", type: "text/javascript; charset=utf-8", text: worker[0].code };
  const page = readFileSync("src/inspector/index.html", "utf8")
    .replace("{{script}}", script.name)
    .replace("{{style}}", style.name);
  mkdirSync(folder, { recursive: true });
  const files = `export const page = ${JSON.stringify(page)};\nexport const files = ${JSON.stringify([script, style, serviceWorker])};\n`;
  writeFileSync(`${folder}/files.js`, files);
  return output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
}

async function bundle(name, format) {
  const build = await rolldown({
    input: `src/inspector/${name}`,
    platform: "browser",
    tsconfig: "tsconfig.inspector.json",
  });
  const { output } = await build.generate({ format, minify: true, codeSplitting: false });
  await build.close();
  return output;
}

function named(name, extension, type, text) {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return { name: `${name}-${hash}.${extension}`, type: `${type}; charset=utf-8`, text };
}

function sheetOf(name) {
  return readFileSync(`src/inspector/style/${name}.css`, "utf8");
}

/** Without comments and indentation. */
function smaller(css) {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\s*\n\s*/g, "\n")
    .trim();
}

/** A plugin for the build of our own code: the server's module that reads the files of a clone becomes the files themselves. */
export const inspectorFiles = {
  name: "inspector-files",
  resolveId(id) {
    return id.endsWith("/inspector-files.js") ? { id: "../inspector/files.js", external: true } : null;
  },
};
