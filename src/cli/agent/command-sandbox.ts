/**
 * The sandbox of the commands of a folder: one for this process as long as the settings are the same, so that what one command leaves
 * in `/tmp` or serves is there for the next, also after another session was opened.
 */
import { type CommandSandbox, createSandbox } from "../../tools/index.js";
import { createNoSandbox } from "../../tools/sandbox/sandbox.js";
import type { SandboxSettings } from "../configuration/agent-settings.js";
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { listStoreFiles } from "../files/session-store.js";
import type { Permissions } from "../permissions/permissions.js";

type Kept = {
  readonly key: string;
  readonly sandbox: CommandSandbox;
  /** The rules change with the session, and the sandbox stays. */
  permissions: Pick<Permissions, "closedFiles">;
};

const kept = new Map<string, Kept>();

export type SandboxFolders = { readonly root: string; readonly home: string };

/** @throws PawlError `sandbox_missing` if the settings require a sandbox and there is none */
export function openCommandSandbox(
  { root, home }: SandboxFolders,
  settings: SandboxSettings,
  permissions: Kept["permissions"],
): CommandSandbox {
  const { mode, hosts, addresses, show, write } = settings;
  if (mode === "off") return createNoSandbox(null);
  const key = JSON.stringify([mode, hosts, addresses, show, write, home]);
  const present = kept.get(root);
  if (present?.key === key) {
    present.permissions = permissions;
    return present.sandbox;
  }
  const own = [home, resolveUserConfigurationFolder(process.env), ...listStoreFiles(home)];
  const opened: Kept = {
    key,
    permissions,
    sandbox: createSandbox({
      ...{ root, mode, hosts, addresses, show, write },
      hide: () => [...own, ...opened.permissions.closedFiles()],
    }),
  };
  kept.set(root, opened);
  void present?.sandbox.close();
  return opened.sandbox;
}

/** Why commands are not sandboxed, in a sentence with what to do; null if they are. */
export function whyNotSandboxed({ kind, reason, advice }: CommandSandbox): string | null {
  if (kind !== "none") return null;
  if (reason === null) return "Commands are not sandboxed: shell.sandbox is off.";
  return `Commands are not sandboxed: ${reason}.${advice === "" ? "" : ` ${advice}`}`;
}
