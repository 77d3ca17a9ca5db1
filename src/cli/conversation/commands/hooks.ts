/**
 * `/hooks`: the hooks in files, in the order in which they run, and why some are off.
 */
import { listHooks, type ResolvedHook } from "../../hooks/resolve-hooks.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

export async function runHooksCommand({
  configured,
  hasHooks,
  redaction,
  columns,
  say,
}: CommandContext): Promise<void> {
  if (!hasHooks) return say([lineOf("Hooks are off: pawl was started with --no-hooks.", "dim")]);
  const clean = (text: string) => toOneLine(redaction.text(text));
  const renderHook = (hook: ResolvedHook): readonly Line[] => {
    const { event, scope, path, command, off } = hook;
    const below = (text: string, style: "dim" | "yellow") =>
      wrapNote(clean(text), columns() - indent.length, style).map((line): Line => [spanOf(indent), ...line]);
    const where = scope === "user" ? "yours" : "of this folder";
    return [
      [spanOf(event, off === null ? "bold" : "dim"), spanOf(` · ${where}`, "dim")],
      ...below(command, "dim"),
      ...below(describeHook(hook), "dim"),
      // A path is not wrapped, so that it can be copied.
      [spanOf(indent), spanOf(clean(path), "dim")],
      ...(off === null ? [] : below(`off: ${off}`, "yellow")),
    ];
  };
  const lines = listHooks(configured.trust).flatMap(renderHook);
  say(lines.length === 0 ? wrapNote(emptyNote, columns(), "dim") : lines);
}

function describeHook({ matcher, condition, timeoutMs, onFailure }: ResolvedHook): string {
  return [
    ...(matcher === "" || matcher === "*" ? [] : [`for ${matcher}`]),
    ...(condition === null ? [] : [`if ${condition.rule}`]),
    `${timeoutMs / 1_000} s at most`,
    ...(onFailure === "closed" ? ["blocks if it fails"] : []),
  ].join(" · ");
}

const indent = "  ";
const emptyNote =
  "There are no hooks. A hook is a command in .pawl/hooks.json of this folder, or in hooks.json next to your pawl.config.json.";
