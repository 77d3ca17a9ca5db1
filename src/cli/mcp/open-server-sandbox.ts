/**
 * Opens the sandbox of an MCP server: its own hosts and home, and the files that are closed to commands are also closed to it.
 */
import { PawlError } from "../../index.js";
import { type CommandSandbox, createSandbox, type SandboxOptions } from "../../tools/index.js";
import { listPawlFolders } from "../files/pawl-folders.js";
import { resolveHome } from "../files/store-location.js";
import { createPermissions } from "../permissions/permissions.js";
import type { ServerSandbox } from "./server-sandbox.js";

/** @throws PawlError `sandbox_missing` if there is no sandbox here: a server that requires one never runs without it */
export function openServerSandbox(name: string, settings: ServerSandbox, root: string): CommandSandbox {
  const home = resolveHome(process.env);
  const permissions = createPermissions({ allowAll: false, root, home });
  const options: SandboxOptions = {
    ...settings,
    root,
    mode: "required",
    homeName: `mcp ${name}`,
    hide: async (signal) => [...listPawlFolders(home), ...(await permissions.closedFiles(signal))],
  };
  try {
    return createSandbox(options);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    throw new PawlError(error.code, `The MCP server ${name} is not started: it needs a sandbox. ${error.message}`, {
      cause: error,
    });
  }
}
