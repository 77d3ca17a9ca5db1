/**
 * Where a person's own files for agents are. Nothing is imported here but Node's modules, because it is needed before the program is loaded.
 */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** `XDG_CONFIG_HOME/pawl`, else `~/.config/pawl`. */
export function configurationOf({ XDG_CONFIG_HOME: own }: { readonly [name: string]: string | undefined }): string {
  return own !== undefined && isAbsolute(own) ? join(own, "pawl") : join(homedir(), ".config", "pawl");
}
