/**
 * `/mode`, and Shift+Tab: whether files in the folder are changed without asking, or not at all.
 */
import { PawlError } from "../../../index.js";
import { type Mode, modes } from "../../permissions/mode.js";
import { joinWords } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

/** @param words a mode; `next` for the next one; empty: shows the current one */
export async function runModeCommand(
  { mode: sessionMode, columns, say }: CommandContext,
  words: string,
): Promise<void> {
  const requestedMode = modes.find((mode) => mode === words);
  if (requestedMode === undefined && words !== "" && words !== "next")
    throw new PawlError("bad_input", `/mode takes ${joinWords(modes, "or")}.`);
  const newMode =
    words === "" ? sessionMode.current() : await sessionMode.change((present) => requestedMode ?? nextMode(present));
  say(wrapNote(modeTexts[newMode], columns(), "dim"));
}

function nextMode(mode: Mode): Mode {
  return modes[(modes.indexOf(mode) + 1) % modes.length] ?? "ask";
}

const modeTexts: { readonly [Name in Mode]: string } = {
  ask: "Mode ask: file changes ask, unless a rule allows them.",
  edits:
    "Mode edits: edit_file and write_file run in this folder without asking, in this session. Rules that deny or ask still apply. Shift+Tab switches to plan.",
  plan: "Mode plan: until you accept a plan, neither the model nor its agents can change this folder. Shift+Tab ends it.",
};
