/**
 * The clients of model providers that the command line brings: the AI SDK's packages, bundled into dist/clients and minified. They are
 * loaded when a model needs one. The library does not use them.
 *
 * THIRD_PARTY.md names every package in these bundles, with its licence. The build writes it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";

/** The packages of the clients, by the name of their file in dist/clients. */
const clients = {
  anthropic: "@ai-sdk/anthropic",
  google: "@ai-sdk/google",
  openai: "@ai-sdk/openai",
  "openai-compatible": "@ai-sdk/openai-compatible",
};
const folder = "dist/clients";
const page = "THIRD_PARTY.md";

/** Bundles the clients, and writes THIRD_PARTY.md if it is not up to date. */
export async function buildClients() {
  const build = await rolldown({ input: clients, platform: "node", external: isBuiltin });
  const { output } = await build.write({ dir: folder, format: "esm", minify: true, chunkFileNames: "[name].js" });
  await build.close();
  const packages = packagesOf(output.flatMap(({ modules = {} }) => Object.keys(modules)));
  const text = thirdPartyPage(packages);
  if (!existsSync(page) || readFileSync(page, "utf8") !== text) writeFileSync(page, text);
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

/** The manifests of the packages that these files belong to, by name and version. */
function packagesOf(files) {
  const found = new Map();
  for (const file of files) {
    const root = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.replaceAll("\\", "/"))?.[0];
    if (root === undefined) continue;
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    found.set(`${manifest.name} ${manifest.version}`, { ...manifest, root });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, manifest]) => manifest);
}

function thirdPartyPage(packages) {
  const rows = packages.map(
    ({ name, version, license, homepage }) => `| ${name} | ${version} | ${license} | ${homepage ?? ""} |`,
  );
  const texts = packages.flatMap(({ name, version, license, root }) => {
    const file = readdirSync(root).find((entry) => /^licen[cs]e(\.\w+)?$/i.test(entry));
    if (file === undefined && license !== "Apache-2.0")
      throw new Error(`${name} has the licence ${license}, and no text of it.`);
    const text = file === undefined ? "" : readFileSync(join(root, file), "utf8").trim();
    // The text of Apache-2.0 is in LICENSE. Of these packages only the notice is repeated.
    const own = license === "Apache-2.0" ? noticeOf(text) : text;
    return [`## ${name} ${version}`, own === "" ? "Apache License 2.0: see [LICENSE](LICENSE)." : fenced(own)];
  });
  return `# Software of others in this package

The command line brings clients for model providers. They are bundled into \`dist/clients\` from the packages below. The
build writes this page.

| package | version | licence | page |
|---|---|---|---|
${rows.join("\n")}

${texts.join("\n\n")}
`;
}

/** What a package with the Apache licence says beside the text of that licence. */
function noticeOf(text) {
  return text.includes("TERMS AND CONDITIONS FOR USE") ? "" : text;
}

function fenced(text) {
  return `\`\`\`text\n${text}\n\`\`\``;
}
