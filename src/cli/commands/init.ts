/**
 * `pawl init` creates a project with an agent: a copy of examples/starter, with a package.json and a .gitignore.
 *
 * It writes only into a new or an empty folder, and never replaces a file.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { PawlError } from "../../index.js";
import { defaultModels } from "../../models/index.js";
import { exitCodes } from "../exit.js";
import { resolvePackageFile } from "../installation.js";
import type { Terminal } from "../terminal/terminal.js";
import { quotePath, sanitize } from "../terminal/text.js";

export type InitOptions = { readonly json?: true };

type Environment = { readonly [name: string]: string | undefined };
type KeyName = (typeof defaultModels)[number]["key"];

const firstRequest = "Find order 1041 and refund it";
const maxListedEntries = 5;

/** @param environment is searched for the key that the agent will use */
export function init(
  folder: string,
  options: InitOptions,
  terminal: Pick<Terminal, "out" | "json">,
  environment: Environment = process.env,
): number {
  const target = resolve(folder);
  requireEmptyFolder(target);
  const key = findKey(environment);
  const files = { ...readTemplate(), "package.json": createManifest(target, key), ".gitignore": ignoredFiles };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text, { flag: "wx" });
  }
  const paths = Object.keys(files).sort();
  const path = relative(process.cwd(), target);
  const next = [`${path === "" ? "" : `cd ${quotePath(path)} && `}npm install`, `npm start -- "${firstRequest}"`];
  if (options.json === true) terminal.json({ folder: target, files: paths, next });
  else terminal.out(formatResult(path, paths, next, key));
  return exitCodes.done;
}

/** The first variable with a key for a provider, by the order in which `chooseModel` looks for one. */
function findKey(environment: Environment): KeyName | null {
  return defaultModels.map(({ key }) => key).find((key) => (environment[key] ?? "") !== "") ?? null;
}

/** The client that each key needs. The library depends on none of them. */
const clientPackages: { readonly [key in KeyName]: string } = {
  ANTHROPIC_API_KEY: "@ai-sdk/anthropic",
  OPENAI_API_KEY: "@ai-sdk/openai",
  GOOGLE_GENERATIVE_AI_API_KEY: "@ai-sdk/google",
  OPENROUTER_API_KEY: "@ai-sdk/openai-compatible",
};

/** A `.git` folder does not count: a new repository is empty. */
function requireEmptyFolder(target: string): void {
  const stats = statSync(target, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory())
    throw new PawlError("bad_configuration", `${target} is a file. Name a new or empty folder.`);
  const entries = readdirSync(target).filter((name) => name !== ".git");
  if (entries.length === 0) return;
  const shown = entries.slice(0, maxListedEntries).join(", ");
  const more = entries.length > maxListedEntries ? ` and ${entries.length - maxListedEntries} more` : "";
  throw new PawlError(
    "bad_configuration",
    `${target} is not empty: it contains ${shown}${more}. Name a new folder: pawl init my-agent`,
  );
}

/** The text of each file, by its path. */
function readTemplate(): { readonly [path: string]: string } {
  const template = resolvePackageFile("examples/starter");
  const files = readdirSync(template, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((file) => join(file.parentPath, file.name));
  return Object.fromEntries(paths.map((path) => [relative(template, path), readFileSync(path, "utf8")]));
}

/** The other packages have the versions that this version of Pawl is tested with. */
function createManifest(target: string, key: KeyName | null): string {
  const own: PackageManifest = JSON.parse(readFileSync(resolvePackageFile("package.json"), "utf8"));
  const pick = (...names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, own.devDependencies[name]]));
  const hasSqlite = process.getBuiltinModule?.("node:sqlite") !== undefined;
  const client = key === null ? {} : pick(clientPackages[key]);
  const dependencies = { ...client, ...(hasSqlite ? {} : pick("libsql")), pawl: `^${own.version}`, ...pick("zod") };
  const devDependencies = pick("@types/node", "typescript");
  const scripts = {
    start: "tsc && node built/main.js",
    test: "tsc && node --test built/*.test.js",
    page: "tsc && pawl serve built/agent.js",
  };
  const wanted = toPackageName(basename(target));
  // npm installs no package into a project of the same name.
  const name = wanted in { ...dependencies, ...devDependencies } ? "my-agent" : wanted;
  return `${JSON.stringify({ name, private: true, type: "module", scripts, dependencies, devDependencies }, null, 2)}\n`;
}

type PackageManifest = {
  readonly version: string;
  readonly devDependencies: { readonly [name: string]: string };
};

/** A name of characters that npm always accepts. */
function toPackageName(folderName: string): string {
  const words = folderName.toLowerCase().match(/[a-z\d]+/g) ?? ["my", "agent"];
  return words.join("-").slice(0, 100);
}

/** npm leaves files of this name out of packages, so it cannot be part of the template. */
const ignoredFiles = `node_modules/
built/
sessions.db*
refunds.txt
.env
`;

function formatResult(path: string, files: readonly string[], next: readonly string[], key: KeyName | null): string {
  const where = path === "" ? "this folder" : path;
  const model =
    key === null
      ? "It needs no key: without one, it uses the demo model, which is not an LLM."
      : `It uses the key in ${key}. With PAWL_MODEL=demo, it uses the demo model, which needs none.`;
  return `Created an agent in ${sanitize(where)}: ${files.length} files. Its README.md explains them.
${model}

Next:

${next.map((command) => `  ${sanitize(command)}`).join("\n")}
`;
}
