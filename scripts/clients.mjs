/**
 * The clients of model providers that the command line brings: the AI SDK's packages, bundled into dist/clients and minified. They are
 * loaded when a model needs one. The library does not use them.
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
const folder = "dist/clients";

/** Bundles the clients. Returns the files of the packages in the bundles. */
export async function buildClients() {
  const build = await rolldown({ input: clients, platform: "node", external: isBuiltin });
  const { output } = await build.write({ dir: folder, format: "esm", minify: true, chunkFileNames: "[name].js" });
  await build.close();
  return output.flatMap(({ modules = {} }) => Object.keys(modules));
}

export function isClient(id) {
  return Object.values(clients).includes(id);
}

/** A plugin for the build of our own code: an import of a client's package becomes an import of its bundle. */
export const clientImports = {
  name: "client-imports",
  resolveId(id) {
    const found = Object.entries(clients).find(([, packageName]) => packageName === id);
    // The command line is in a folder beside dist/clients, and so are the chunks that it shares with the library.
    return found && { id: `../clients/${found[0]}.js`, external: true };
  },
};
