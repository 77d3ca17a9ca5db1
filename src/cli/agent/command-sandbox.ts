/**
 * The sandbox of a folder's commands. The process reuses it as long as the settings stay the same, so that a file in `/tmp` or a
 * server started by one command is there for the next, even in another session.
 */
import { type CommandSandbox, createSandbox } from "../../tools/index.js";
import { createNoSandbox } from "../../tools/sandbox/sandbox.js";
import type { SandboxSettings } from "../configuration/agent-settings.js";
import { listPawlFolders } from "../files/pawl-folders.js";
import type { Permissions } from "../permissions/permissions.js";

type OpenSandbox = {
  readonly key: string;
  readonly sandbox: CommandSandbox;
  /** Replaced when a session brings other rules. */
  permissions: Pick<Permissions, "closedFiles">;
};

const openSandboxes = new Map<string, OpenSandbox>();

export type SandboxFolders = { readonly root: string; readonly home: string };

/** @throws PawlError `sandbox_missing` if the settings require a sandbox and there is none */
export function openCommandSandbox(
  { root, home }: SandboxFolders,
  settings: SandboxSettings,
  permissions: OpenSandbox["permissions"],
): CommandSandbox {
  const { mode, hosts, addresses, show, write } = settings;
  if (mode === "off") return createNoSandbox(null);
  const key = JSON.stringify([mode, hosts, addresses, show, write, home]);
  const existing = openSandboxes.get(root);
  if (existing?.key === key) {
    existing.permissions = permissions;
    return existing.sandbox;
  }
  const hiddenFolders = listPawlFolders(home);
  const opened: OpenSandbox = {
    key,
    permissions,
    sandbox: createSandbox({
      root,
      mode,
      hosts,
      addresses,
      show,
      write,
      hide: async (signal) => [...hiddenFolders, ...(await opened.permissions.closedFiles(signal))],
    }),
  };
  openSandboxes.set(root, opened);
  void existing?.sandbox.close();
  return opened.sandbox;
}

/** Why commands are not sandboxed and what to do about it, in whole sentences; null if they are sandboxed. */
export function whyNotSandboxed({ kind, reason, advice }: CommandSandbox): string | null {
  if (kind !== "none") return null;
  if (reason === null) return "Commands are not sandboxed: shell.sandbox is off.";
  return `Commands are not sandboxed: ${reason}.${advice === "" ? "" : ` ${advice}`}`;
}
