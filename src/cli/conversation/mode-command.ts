/**
 * `/mode`, and Shift+Tab: whether files of the folder are changed without a question.
 */
import { PawlError } from "../../index.js";
import { type Mode, modes } from "../permissions/mode.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

/** `next` is the other mode. */
export async function mode({ mode: own, columns, say }: CommandContext, words: string): Promise<void> {
  const present = own.present();
  const named = words === "next" ? (present === "ask" ? "edits" : "ask") : words;
  const next = named === "" ? present : modes.find((one) => one === named);
  if (next === undefined) throw new PawlError("bad_input", `/mode takes ${modes.join(" or ")}.`);
  if (named !== "") await own.change(next);
  say(wrappedNote(meanings[next], columns(), "dim"));
}

const meanings: { readonly [Name in Mode]: string } = {
  ask: "Mode ask: changes of files ask, unless a rule allows them.",
  edits:
    "Mode edits: edit_file and write_file run in this folder without a question, in this session. What a rule denies or asks about stays so. Shift+Tab takes it back.",
};
