/**
 * Notes for a person who adds a rule.
 */
import { PawlError } from "../../index.js";
import { commandOf, explainFolderControl } from "./command-pattern.js";
import { findKnownCommand } from "./known-commands.js";
import { userHome } from "./path-pattern.js";
import { parseRule, type Rule } from "./rule.js";
import type { StoredRule } from "./rule-types.js";
import { isServerTool } from "./tool-version.js";

/** The note about a rule; null if it allows nothing beyond its words. */
export function findRuleNote({ verdict, tool, version, scope, about }: Rule): string | null {
  if (verdict !== "allow") return null;
  if (about.kind === "tool" && isServerTool(tool) && version === undefined && scope !== "option")
    return 'This rule is not for a particular version, so each tool still asks. Answer "always" then to allow that version.';
  if (about.kind === "tool") return tool === "shell" ? "This rule allows every command." : null;
  if (about.kind !== "command") return null;
  const { words, anyFurther } = about.pattern;
  const command = commandOf(words);
  if (anyFurther && findKnownCommand(command) === null)
    return `Pawl does not know the options of ${command.slice(0, 2).join(" ")}: with this rule they may run other programs, write files, or read settings.`;
  return explainFolderControl(command);
}

/** The same for an allowing rule of a file. Also null if the rule is invalid, which is reported elsewhere. */
export function findAllowedRuleNote(stored: StoredRule): string | null {
  try {
    return findRuleNote(parseRule("allow", stored, "folder", userHome));
  } catch (error) {
    if (error instanceof PawlError) return null;
    throw error;
  }
}
