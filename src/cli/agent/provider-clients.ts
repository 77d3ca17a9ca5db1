/**
 * The client packages of model providers. Some are bundled with the command line, so that a first command needs no other
 * package. The person installs the others.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PawlError } from "../../index.js";
import { type ImportedModule, importInstalledPackage } from "../../models/index.js";
import { installCommand } from "../installation.js";

/** The build bundles these packages into dist/clients. Each is loaded when a model needs it. */
const bundledClients = new Map<string, () => Promise<ImportedModule>>([
  ["@ai-sdk/anthropic", () => import("@ai-sdk/anthropic")],
  ["@ai-sdk/google", () => import("@ai-sdk/google")],
  ["@ai-sdk/openai", () => import("@ai-sdk/openai")],
  ["@ai-sdk/openai-compatible", () => import("@ai-sdk/openai-compatible")],
]);

/**
 * Imports the package of a provider's client.
 * @throws PawlError `missing_package`, with the command that adds it to this installation
 */
export async function importClient(packageName: string): Promise<ImportedModule> {
  const imported = (await bundledClients.get(packageName)?.()) ?? (await importInstalledPackage(packageName));
  if (imported !== undefined) return imported;
  throw new PawlError(
    "missing_package",
    `The model needs the package ${packageName}, which is not installed with Pawl.${formatUnusedCopy(packageName)} Install it: ${installCommand(packageName)}`,
  );
}

/** Explains why a copy in the folder's `node_modules` is not used: its code is not trusted. */
function formatUnusedCopy(packageName: string): string {
  const isInFolder = existsSync(join("node_modules", packageName, "package.json"));
  return isInFolder ? " The copy in this folder is not used, because a folder's packages are not trusted." : "";
}
