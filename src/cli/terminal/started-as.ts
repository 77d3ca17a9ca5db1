/**
 * How the person starts this program: `npx pawl` finds no `pawl` on the search path, so hints must say `npx pawl`, too.
 */
import type { Environment } from "../files/store-location.js";

/** @returns the text, with the commands that it names as the person has to type them */
export function nameAsStarted(text: string, environment: Environment = process.env): string {
  // npm sets this for `npx` and `npm exec`. Other runners are started by a longer line that cannot be known.
  return environment.npm_command === "exec" ? text.replace(namedCommand, "npx pawl $1") : text;
}

/** A command of this program in a sentence, with what it is about: not the name of the program alone. */
const namedCommand =
  /(?<![\w/.-]|npx )pawl (abort|acp|agents|approvals|approve|config|deny|doctor|eval|fork|mcp|permissions|postgres|resume|run|replay|sandbox|schedule|serve|sessions|steer|trace|trust|ui|worker|--?[a-z])/g;
