/**
 * Packages of others that Pawl brings, bundled and minified. They are loaded when they are needed.
 *
 * dist/clients has the clients of model providers: the AI SDK's packages, which the command line alone loads. dist/libraries has what the
 * conversation on a terminal and permission rules need, the regular expressions of `search_files`, and the requests through a proxy.
 */
import { isBuiltin } from "node:module";
import { rolldown } from "rolldown";

/** The packages of the clients, by the name of their file in dist/clients. */
const clients = {
  anthropic: "@ai-sdk/anthropic",
  google: "@ai-sdk/google",
  openai: "@ai-sdk/openai",
  "openai-compatible": "@ai-sdk/openai-compatible",
};
const libraries = {
  diff: "diff",
  highlight: "highlight.js/lib/common",
  marked: "marked",
  re2js: "re2js",
  unbash: "unbash",
  undici: "undici",
};
const folders = { clients, libraries };

/** Bundles the packages. Returns the files of the packages in the bundles. */
export async function buildClients() {
  const files = [];
  for (const [folder, input] of Object.entries(folders)) {
    const build = await rolldown({
      input,
      platform: "node",
      external: isBuiltin,
      plugins: [compiledOnce, undiciParts],
    });
    const { output } = await build.write({
      dir: `dist/${folder}`,
      format: "esm",
      minify: true,
      chunkFileNames: "[name].js",
    });
    await build.close();
    files.push(...output.flatMap(({ modules = {} }) => Object.keys(modules)));
  }
  return files;
}

/**
 * highlight.js prepares a language anew for each text that it colors, although the language is prepared already: two classes, whose
 * descriptions V8 keeps until a full collection. The conversation colors each line, so that is 1 kB of garbage a line, and a third of the
 * time (decision 0105).
 */
const compiledOnce = {
  name: "compiled-once",
  transform(code, id) {
    if (!/highlight\.js[\\/]lib[\\/]core\.js$/.test(id)) return null;
    const [before, after] = [
      "= compileLanguage(language);",
      "= language.isCompiled ? language : compileLanguage(language);",
    ];
    if (code.split(before).length !== 2)
      throw new Error("highlight.js no longer prepares a language as it did: see decision 0105.");
    return code.replace(before, after);
  },
};

/** Of undici, the command line needs the dispatchers alone: the rest of it is in Node already. */
const undiciParts = {
  name: "undici-parts",
  resolveId: (id) => (id === "undici" ? "\0undici" : null),
  load: (id) =>
    id === "\0undici"
      ? `import api from "undici/lib/api/index.js";
         import Agent from "undici/lib/dispatcher/agent.js";
         import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
         import Pool from "undici/lib/dispatcher/pool.js";
         import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";
         import { setGlobalDispatcher } from "undici/lib/global.js";
         Object.assign(Dispatcher.prototype, api); // as its index.js does
         export default { Agent, Pool, ProxyAgent, setGlobalDispatcher };`
      : null,
};

export function isClient(id) {
  return placeOf(id) !== undefined;
}

/** A plugin for the build of our own code: an import of one of the packages becomes an import of its bundle. */
export const clientImports = {
  name: "client-imports",
  resolveId(id) {
    const place = placeOf(id);
    // The command line is in a folder beside these folders, and so are the chunks that it shares with the library.
    return place && { id: `../${place}.js`, external: true };
  },
};

/** Where the bundle of a package is: `clients/openai`. */
function placeOf(packageName) {
  for (const [folder, input] of Object.entries(folders))
    for (const [name, id] of Object.entries(input)) if (id === packageName) return `${folder}/${name}`;
  return undefined;
}
