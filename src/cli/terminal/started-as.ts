/**
 * How the person started this program. With `npx pawl`, there is no `pawl` on the search path, so hints must say `npx pawl`.
 */
import type { Environment } from "../files/store-location.js";
import { helpGroups } from "../program/command-groups.js";

/** @returns the text, with its commands as the person has to type them */
export function nameAsStarted(text: string, environment: Environment = process.env): string {
  // npm sets this for `npx` and `npm exec`. Other runners are started by a longer line that cannot be known.
  return environment.npm_command === "exec" ? text.replace(namedCommand, "npx pawl $1") : text;
}

/** A command of this program in a sentence: `pawl` followed by a command or an option, not `pawl` alone. */
const namedCommand = new RegExp(`(?<![\\w/.-]|npx )pawl (${Object.values(helpGroups).flat().join("|")}|--?[a-z])`, "g");
