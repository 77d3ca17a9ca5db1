/**
 * The tools `write_file` and `edit_file`.
 */
import type { Reconciled, Tool } from "../ports/tool.js";
import { counted } from "./counted.js";
import { type Root, resolveForWriting, resolveInRoot } from "./root.js";
import { countOccurrences } from "./search-text.js";
import { linesOf, readTextFile, readTextOrThrow, type TextFile, writeTextFile } from "./text-file.js";

/** Runs tasks one after another, so that two edits of the same file do not undo each other. */
export type InTurn = <Result>(task: () => Promise<Result>) => Promise<Result>;

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task, task);
    last = next;
    return next;
  };
}

type WriteInput = { readonly path: string; readonly content: string };

export function createWriteFile(root: Root, inTurn: InTurn): Tool<WriteInput, string> {
  return {
    name: "write_file",
    description:
      "Writes a whole text file: creates it, with its folders, or replaces its content. To change a part of a file use edit_file.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: "From the root." },
        content: { type: "string", description: "The whole new content of the file." },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    // Writing the same content twice has the same effect as writing it once.
    recover: "rerun",
    execute: (input) => inTurn(() => writeFile(root, input)),
  };
}

async function writeFile(root: Root, { path, content }: WriteInput): Promise<string> {
  const place = await resolveForWriting(root, path);
  const { bytes, isNew } = await writeTextFile(root, place, content);
  const size = `${counted(bytes, "byte")}, ${counted(linesOf(content).length, "line")}`;
  return `Wrote ${place.shown} (${size}; ${isNew ? "a new file" : "replaced what it held"})`;
}

type EditInput = {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean;
};

export function createEditFile(root: Root, inTurn: InTurn): Tool<EditInput, string> {
  return {
    name: "edit_file",
    description:
      "Replaces a text in a file by another. The old text must be exactly as it stands in the file, with its spaces and without line numbers, and must " +
      "stand there once, unless replaceAll is set: give some lines around it to make it unique.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: "From the root." },
        oldText: { type: "string", minLength: 1 },
        newText: { type: "string", description: "May be empty: the old text is then removed." },
        replaceAll: { type: "boolean", description: "Replaces every occurrence." },
      },
      required: ["path", "oldText", "newText"],
      additionalProperties: false,
    },
    recover: { reconcile: ({ input }) => reconcileEdit(root, input as EditInput) },
    execute: (input) => inTurn(() => editFile(root, input)),
  };
}

async function editFile(root: Root, input: EditInput): Promise<string> {
  if (input.oldText === input.newText)
    throw new Error("oldText and newText are the same, so there is nothing to change. Give a different newText.");
  const place = await resolveForWriting(root, input.path);
  const file = await readTextOrThrow(root, place);
  if (file.isDamaged)
    throw new Error(
      `${place.shown} is not UTF-8, and editing it as text would damage it. Change it with another tool.`,
    );
  const { oldText, newText } = withLineEndsOf(file, input);
  const count = countOccurrences(file.text, oldText);
  if (count === 0) throw new Error(notFound(place.shown, file.text, oldText));
  const lines = shownLines(file.text, oldText);
  if (count > 1 && input.replaceAll !== true)
    throw new Error(
      `The old text occurs ${count} times in ${place.shown} (${lines}). Include more of the text around the right occurrence, or set replaceAll.`,
    );
  await writeTextFile(root, place, file.text.split(oldText).join(newText), file.stats);
  return `Replaced ${counted(count, "occurrence")} in ${place.shown} (${lines})`;
}

/** Finds out from the file whether an interrupted edit took effect. An edit takes effect wholly or not at all. */
async function reconcileEdit(root: Root, input: EditInput): Promise<Reconciled> {
  const place = await resolveInRoot(root, input.path);
  const file = await readTextFile(root, place);
  if ("refused" in file) return { status: "unknown" };
  const { oldText, newText } = withLineEndsOf(file, input);
  const hasOld = file.text.includes(oldText);
  const hasNew = newText === "" ? !hasOld : file.text.includes(newText);
  // If both occur, the new text may have been there before the edit, or may contain the old text.
  if (hasOld && hasNew) return { status: "unknown" };
  if (hasOld) return { status: "not_started" };
  if (!hasNew) return { status: "unknown" };
  const output = `${place.shown} has the new text and no longer the old one (looked up after an interruption)`;
  return { status: "finished", output };
}

/** A model writes \n even for a file with \r\n. */
function withLineEndsOf(file: TextFile, { oldText, newText }: EditInput): { oldText: string; newText: string } {
  const isPlain = !file.text.includes("\r\n") || oldText.includes("\r\n") || file.text.includes(oldText);
  if (isPlain) return { oldText, newText };
  return { oldText: oldText.replaceAll("\n", "\r\n"), newText: newText.replace(/\r?\n/g, "\r\n") };
}

function notFound(shown: string, text: string, oldText: string): string {
  const squeeze = (part: string) => part.replace(/\s+/g, " ").trim();
  const hint =
    squeeze(oldText) !== "" && squeeze(text).includes(squeeze(oldText))
      ? " It occurs there with other spaces or line ends."
      : "";
  return `The old text does not occur in ${shown}.${hint} Read the file, and give the text exactly as it is.`;
}

/** The lines on which the first occurrences begin. */
function shownLines(text: string, wanted: string): string {
  const numbers: number[] = [];
  let [line, from] = [1, 0];
  for (let at = text.indexOf(wanted); at !== -1 && numbers.length < 10; at = text.indexOf(wanted, at + wanted.length)) {
    line += countOccurrences(text.slice(from, at), "\n");
    from = at;
    numbers.push(line);
  }
  const more = countOccurrences(text, wanted) > numbers.length ? ", …" : "";
  return `${numbers.length === 1 ? "line" : "lines"} ${numbers.join(", ")}${more}`;
}
