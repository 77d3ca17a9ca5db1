/**
 * Where a person's own files for agents are. Only Node's modules are loaded here, because it is needed before the program is loaded.
 */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "./home.js";

/** `XDG_CONFIG_HOME/pawl`, else `~/.config/pawl`. */
export function configurationOf({ XDG_CONFIG_HOME: own }: Environment): string {
  return own !== undefined && isAbsolute(own) ? join(own, "pawl") : join(homedir(), ".config", "pawl");
}
