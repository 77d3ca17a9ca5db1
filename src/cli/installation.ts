/**
 * How this program was installed, and the command that adds a package to it.
 */
import { existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

export type Installation =
  /** A checkout of the repository. */
  | { readonly kind: "clone"; readonly folder: string }
  /** A temporary install by `npx`. */
  | { readonly kind: "npx" }
  | { readonly kind: "global" }
  /** A dependency of the project in this folder. */
  | { readonly kind: "local"; readonly folder: string };

/** @param program the real path of a file of this package */
export function detectInstallation(program: string): Installation {
  const parts = program.split(sep);
  const modulesIndex = parts.indexOf("node_modules");
  if (modulesIndex === -1) return { kind: "clone", folder: findPackageFolder(program) };
  if (parts.includes("_npx")) return { kind: "npx" };
  const folder = parts.slice(0, modulesIndex).join(sep) || sep;
  // The folder of global packages is not a project.
  return existsSync(join(folder, "package.json")) ? { kind: "local", folder } : { kind: "global" };
}

/** The nearest parent folder with a package.json. */
function findPackageFolder(file: string): string {
  let folder = dirname(file);
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/** The command that installs a package where this program can import it. */
export function installCommand(packageName: string): string {
  return formatInstallCommand(detectInstallation(fileURLToPath(import.meta.url)), packageName, process.cwd());
}

/** @param from the person's current folder */
export function formatInstallCommand(installation: Installation, packageName: string, from: string): string {
  switch (installation.kind) {
    case "clone":
      return `npm install --no-save${formatPrefixOption(installation.folder, from)} ${packageName}`;
    case "npx":
      return `npx -p pawl -p ${packageName} pawl …`;
    case "global":
      return `npm install -g ${packageName}`;
    case "local":
      return `${findPackageManager(installation.folder)}${formatPrefixOption(installation.folder, from)} ${packageName}`;
  }
}

/** The option `--prefix` for that folder; empty if the person is in it. */
function formatPrefixOption(folder: string, from: string): string {
  const isInside = from === folder || from.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
  return isInside ? "" : ` --prefix ${JSON.stringify(folder)}`;
}

const managers = [
  { lockfile: "pnpm-lock.yaml", command: "pnpm add" },
  { lockfile: "yarn.lock", command: "yarn add" },
  { lockfile: "bun.lock", command: "bun add" },
] as const;

function findPackageManager(folder: string): string {
  return managers.find(({ lockfile }) => existsSync(join(folder, lockfile)))?.command ?? "npm install";
}

/** The path of a file of this package. */
export function resolvePackageFile(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
