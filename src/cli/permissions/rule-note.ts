/**
 * Notes for a person who adds a rule.
 */
import { PawlError } from "../../index.js";
import { commandOf, explainFolderControl } from "./command-pattern.js";
import { findKnownCommand } from "./known-commands.js";
import { userHome } from "./path-pattern.js";
import { isKnownTool, parseRule, type Rule } from "./rule.js";
import type { StoredRule } from "./rule-types.js";
import { isServerTool } from "./tool-version.js";

/** The note about a rule; null if its tool is known, and it allows nothing beyond its words. */
export function findRuleNote({ verdict, tool, version, scope, about }: Rule): string | null {
  const unknown = describeUnknownTool({ tool, about });
  if (unknown !== null) return unknown;
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

/** The notes about rules of `--allow` and `--deny` whose tool is not known. */
export function listOptionNotes(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap((rule) => (rule.scope === "option" ? (describeUnknownTool(rule) ?? []) : []));
}

/** The name may be a tool of another version of Pawl, so such a rule is accepted. */
function describeUnknownTool({ tool, about }: Pick<Rule, "tool" | "about">): string | null {
  return about.kind !== "tool" || isKnownTool(tool) ? null : `There is no tool ${tool}, so this rule has no effect.`;
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
