/**
 * The folder of the person's configuration, and the maximum size of a configuration file. This module imports only Node's
 * modules, because it is needed before the program is loaded.
 */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "./store-location.js";

/** The maximum size of a `pawl.config.json`; bytes. */
export const maxConfigurationBytes = 64 * 1024;

/** `XDG_CONFIG_HOME/pawl`, else `~/.config/pawl`. */
export function resolveUserConfigurationFolder({ XDG_CONFIG_HOME: xdgConfigHome }: Environment): string {
  return xdgConfigHome !== undefined && isAbsolute(xdgConfigHome)
    ? join(xdgConfigHome, "pawl")
    : join(homedir(), ".config", "pawl");
}
