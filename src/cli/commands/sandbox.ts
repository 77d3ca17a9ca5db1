/**
 * `pawl sandbox` shows what commands see in this folder, and `pawl sandbox clean` removes their home.
 */
import {
  type FolderSize,
  locateCache,
  locateCommandHome,
  measureCommandHomes,
  removeCommandHomes,
} from "../../tools/sandbox/command-home.js";
import { openCommandSandbox, whyNotSandboxed } from "../agent/command-sandbox.js";
import { toAgentSettings } from "../configuration/agent-settings.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { resolveHome } from "../files/store-location.js";
import { createPermissions } from "../permissions/permissions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type SandboxCommandOptions = { readonly root?: string; readonly json?: true };

/** Opens the sandbox of a folder's commands, with the settings of the folder and the user. */
export function openFolderSandbox(root: string) {
  const folders = { root: resolveFolder(root), home: resolveHome(process.env) };
  const { sandbox: settings } = toAgentSettings(resolveConfiguration(folders));
  const sandbox = openCommandSandbox(folders, settings, createPermissions({ allowAll: false, ...folders }));
  const cache = locateCache(process.env);
  const home = locateCommandHome(cache, folders.root);
  return { sandbox, why: whyNotSandboxed(sandbox), home, size: measureCommandHomes(cache, folders.root) };
}

export function formatSize({ bytes, isWhole }: FolderSize): string {
  return `${isWhole ? "" : "over "}${Math.ceil(bytes / 1024 ** 2)} MB`;
}

export function show({ root = ".", json }: SandboxCommandOptions, terminal: Terminal): number {
  const { sandbox, why, home, size } = openFolderSandbox(root);
  if (json === true) {
    const { kind, reason, hosts } = sandbox;
    terminal.json({ kind, reason, hosts, home, bytes: size.bytes });
  } else if (why !== null) terminal.out(`${sanitize(why)}\n`);
  else terminal.out(`${sandbox.describe().map(sanitize).join("\n")} (${formatSize(size)})\n`);
  return exitCodes.done;
}

export function clean({ root = ".", json }: SandboxCommandOptions, terminal: Terminal): number {
  const folder = resolveFolder(root);
  const cache = locateCache(process.env);
  const size = measureCommandHomes(cache, folder);
  const isRemoved = removeCommandHomes(cache, folder);
  if (json === true) terminal.json({ removed: isRemoved, bytes: size.bytes });
  else
    terminal.out(
      isRemoved
        ? `Removed the home folder of commands (${formatSize(size)}).\n`
        : "Commands have no home folder here yet.\n",
    );
  return exitCodes.done;
}
