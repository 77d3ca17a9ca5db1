/**
 * THIRD_PARTY.md: every package whose code or data is in the bundles of dist, with its licence.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const page = "THIRD_PARTY.md";

/** Packages of which no code, but data is in the bundles: the prices. */
const dataFiles = ["node_modules/@pydantic/genai-prices/package.json"];

/** Writes the page if it is not up to date. `files` are all modules in the bundles. */
export function writeThirdParty(files) {
  const text = thirdPartyPage(packagesOf([...files, ...dataFiles]));
  if (!existsSync(page) || readFileSync(page, "utf8") !== text) writeFileSync(page, text);
}

/** The manifests of the packages that these files belong to, by name and version. */
function packagesOf(files) {
  const found = new Map();
  for (const file of files) {
    const root = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.replaceAll("\\", "/"))?.[0];
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
  return `# Third-party software

The package contains bundled code of other projects: clients for model providers (\`dist/clients\`) and libraries for the
conversation in the terminal (\`dist/libraries\`), which the command line uses, a library for hashes in the build for Web
APIs (\`dist/web\`), and one for the inspector's page (\`dist/inspector\`). The prices of models come from
\`@pydantic/genai-prices\`. These are the packages. The build generates this page.

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
