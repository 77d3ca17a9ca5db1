/**
 * Where a person's own files for agents are, and how large a configuration may be. Only Node's modules are loaded here, because it is
 * needed before the program is loaded.
 */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "./session-store.js";

/** The most bytes of a `pawl.config.json`. */
export const maxConfigurationBytes = 64 * 1024;

/** `XDG_CONFIG_HOME/pawl`, else `~/.config/pawl`. */
export function resolveUserConfigurationFolder({ XDG_CONFIG_HOME: own }: Environment): string {
  return own !== undefined && isAbsolute(own) ? join(own, "pawl") : join(homedir(), ".config", "pawl");
}
