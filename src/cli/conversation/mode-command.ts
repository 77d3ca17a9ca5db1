/**
 * `/mode`, and Shift+Tab: whether files of the folder are changed without a question.
 */
import { PawlError } from "../../index.js";
import { type Mode, modes } from "../permissions/mode.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

/** `next` is the other mode. */
export async function mode({ mode: own, columns, say }: CommandContext, words: string): Promise<void> {
  const named = modes.find((one) => one === words);
  if (named === undefined && words !== "" && words !== "next")
    throw new PawlError("bad_input", `/mode takes ${modes.join(" or ")}.`);
  const shown =
    words === "" ? own.present() : await own.change((present) => named ?? (present === "ask" ? "edits" : "ask"));
  say(wrappedNote(meanings[shown], columns(), "dim"));
}

const meanings: { readonly [Name in Mode]: string } = {
  ask: "Mode ask: changes of files ask, unless a rule allows them.",
  edits:
    "Mode edits: edit_file and write_file run in this folder without a question, in this session. What a rule denies or asks about stays so. Shift+Tab takes it back.",
};
