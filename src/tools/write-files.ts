/**
 * The tools `write_file` and `edit_file`.
 */
import type { Reconciled, Tool, ToolContext } from "../ports/tool.js";
import { counted } from "./counted.js";
import {
  byteOrderMark,
  contains,
  findOccurrences,
  formNote,
  formOf,
  type Occurrences,
  occursWithOtherSpaces,
  replaceOccurrences,
  type TextForm,
  withCarriageReturns,
} from "./edit-text.js";
import { inTurn } from "./file-turns.js";
import { type Folder, statIn } from "./folder.js";
import { assertLength, assertWholeCharacters, maxContentCharacters, maxPathCharacters } from "./input-bounds.js";
import { createPace, type Pace } from "./pace.js";
import { ChangedError, replaceFile } from "./replace-file.js";
import { inFolderOf, type Root, resolveForWriting, resolveInRoot } from "./root.js";
import { countLines, maxFileBytes, readTextFile, readTextIn, type TextFile, textOrThrow } from "./text-file.js";

type WriteInput = { readonly path: string; readonly content: string };

const pathInput = { type: "string", maxLength: maxPathCharacters, description: "From the root." } as const;

export function createWriteFile(root: Root): Tool<WriteInput, string> {
  return {
    name: "write_file",
    lenientInput: true,
    description:
      "Writes a whole text file: creates it, with its folders, or replaces its content. A file that is replaced keeps its line ends (\\r\\n) and its " +
      "byte order mark. To change a part of a file use edit_file.",
    input: {
      type: "object",
      properties: {
        path: pathInput,
        content: {
          type: "string",
          maxLength: maxContentCharacters,
          description: "The whole new content of the file.",
        },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    // Writing the same content twice has the same effect as writing it once.
    recover: "rerun",
    execute: (input, context) => writeFile(root, input, context),
  };
}

async function writeFile(root: Root, { path, content }: WriteInput, { signal }: ToolContext): Promise<string> {
  assertLength("The content", content, maxContentCharacters);
  assertWholeCharacters("The content", content);
  const pace = createPace(signal);
  const lines = await countLines(content, pace);
  const place = await resolveForWriting(root, path);
  const { shown } = place;
  const write = (folder: Folder, name: string) =>
    inTurn(folder, name, signal, async () => {
      const { text, kept } = await inFormOfFile(folder, name, content, pace);
      return { ...(await replaceFile({ folder, name, shown, content: text, signal })), kept };
    });
  const { bytes, isNew, kept } = await inFolderOf(root, place, write, { make: true });
  const size = `${counted(bytes, "byte")}, ${counted(lines, "line")}`;
  return `Wrote ${shown} (${size}; ${isNew ? "a new file" : "replaced what it held"}${formNote(kept)})`;
}

/** The content with the line ends and the byte order mark that the file has, and what of them was added. */
async function inFormOfFile(
  folder: Folder,
  name: string,
  content: string,
  pace: Pace,
): Promise<{ readonly text: string; readonly kept: TextForm }> {
  const present = (await statIn(folder, name))?.isFile() === true ? await readTextIn(folder, name, name, pace) : null;
  if (present === null || "refused" in present) return { text: content, kept: nothingKept };
  return await inForm(content, await formOf(present.text, pace), pace);
}

const nothingKept: TextForm = { hasMark: false, hasCarriageReturns: false };

/** A content that has `\r` says itself how its lines end. */
async function inForm(
  content: string,
  form: TextForm,
  pace: Pace,
): Promise<{ readonly text: string; readonly kept: TextForm }> {
  const hasCarriageReturns =
    form.hasCarriageReturns && (await contains(content, "\n", pace)) && !(await contains(content, "\r", pace));
  const hasMark = form.hasMark && content !== "" && !content.startsWith(byteOrderMark);
  const lines = hasCarriageReturns ? await withCarriageReturns(content, pace) : content;
  return { text: hasMark ? byteOrderMark + lines : lines, kept: { hasMark, hasCarriageReturns } };
}

type EditInput = {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean;
};

export function createEditFile(root: Root): Tool<EditInput, string> {
  return {
    name: "edit_file",
    lenientInput: true,
    description:
      "Replaces a text in a file by another. The old text must be exactly as it stands in the file, with its spaces and without line numbers, and must " +
      "stand there once, unless replaceAll is set: give some lines around it to make it unique.",
    input: {
      type: "object",
      properties: {
        path: pathInput,
        oldText: { type: "string", minLength: 1, maxLength: maxContentCharacters },
        newText: {
          type: "string",
          maxLength: maxContentCharacters,
          description: "May be empty: the old text is then removed.",
        },
        replaceAll: { type: "boolean", description: "Replaces every occurrence." },
      },
      required: ["path", "oldText", "newText"],
      additionalProperties: false,
    },
    recover: { reconcile: ({ input, signal }) => reconcileEdit(root, input as EditInput, createPace(signal)) },
    execute: (input, context) => editFile(root, input, context),
  };
}

/** How often an edit begins again because another program has changed the file meanwhile. */
const mostTries = 5;

async function editFile(root: Root, input: EditInput, { signal }: ToolContext): Promise<string> {
  assertEditable(input);
  const place = await resolveForWriting(root, input.path);
  const edit: Edit = { ...input, shown: place.shown, signal, pace: createPace(signal) };
  return await inFolderOf(root, place, (folder, name) =>
    inTurn(folder, name, signal, async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await editOnce(folder, name, edit);
        } catch (error) {
          if (!(error instanceof ChangedError) || tries === mostTries) throw error;
        }
      }
    }),
  );
}

/** @throws Error if a text is too long, empty, or no text, or if both are the same */
function assertEditable({ oldText, newText }: EditInput): void {
  assertLength("oldText", oldText, maxContentCharacters);
  assertLength("newText", newText, maxContentCharacters);
  if (oldText === "") throw new Error("oldText is empty. Give the text to replace.");
  // Half of a character would match a half in the file, and damage the other half.
  assertWholeCharacters("oldText", oldText);
  assertWholeCharacters("newText", newText);
  if (oldText === newText)
    throw new Error("oldText and newText are the same, so there is nothing to change. Give a different newText.");
}

type Edit = Omit<EditInput, "path"> & { readonly shown: string; readonly signal: AbortSignal; readonly pace: Pace };

async function editOnce(folder: Folder, name: string, edit: Edit): Promise<string> {
  const { shown, signal, pace, replaceAll = false } = edit;
  const file = textOrThrow(await readTextIn(folder, name, shown, pace), shown);
  if (file.isDamaged)
    throw new Error(`${shown} is not UTF-8, and editing it as text would damage it. Change it with another tool.`);
  const form = await formOf(file.text, pace);
  const { oldText, newText } = await withLineEndsOf(file, edit, form, pace);
  const found = await findOccurrences(file.text, oldText, pace);
  const { count } = found;
  if (count === 0) throw await notFound(shown, file.text, oldText, pace);
  if (count > 1 && !replaceAll)
    throw new Error(
      `The old text occurs ${count} times in ${shown} (${linesOf(found)}). Include more of the text around the right occurrence, or set replaceAll.`,
    );
  const bytes = file.bytes.length + count * (Buffer.byteLength(newText) - Buffer.byteLength(oldText));
  if (bytes > maxFileBytes)
    throw new Error(
      `${shown} would have ${bytes} bytes, and ${maxFileBytes} are allowed. Replace fewer occurrences, or by a shorter text.`,
    );
  const edited = await replaceOccurrences(file.text, oldText, newText, pace);
  const hasMark = form.hasMark && !edited.startsWith(byteOrderMark);
  const content = hasMark ? byteOrderMark + edited : edited;
  await replaceFile({ folder, name, shown, content, seen: file, signal });
  const note = formNote({ hasMark, hasCarriageReturns: newText !== edit.newText });
  return `Replaced ${counted(count, "occurrence")} in ${shown} (${linesOf(found)}${note})`;
}

/** Finds out from the file whether an interrupted edit took effect. An edit takes effect wholly or not at all. */
async function reconcileEdit(root: Root, input: EditInput, pace: Pace): Promise<Reconciled> {
  assertEditable(input);
  const place = await resolveInRoot(root, input.path);
  const file = await readTextFile(root, place, pace);
  if ("refused" in file) return { status: "unknown" };
  const { oldText, newText } = await withLineEndsOf(file, input, await formOf(file.text, pace), pace);
  const hasOld = await contains(file.text, oldText, pace);
  const hasNew = newText === "" ? !hasOld : await contains(file.text, newText, pace);
  // If both occur, the new text may have been there before the edit, or may contain the old text.
  if (hasOld && hasNew) return { status: "unknown" };
  if (hasOld) return { status: "not_started" };
  if (!hasNew) return { status: "unknown" };
  const output = `${place.shown} has the new text and no longer the old one (looked up after an interruption)`;
  return { status: "finished", output };
}

type Texts = Pick<EditInput, "oldText" | "newText">;

/** A model writes \n even for a file with \r\n. */
async function withLineEndsOf({ text }: TextFile, texts: Texts, form: TextForm, pace: Pace): Promise<Texts> {
  const { oldText, newText } = texts;
  if ((await contains(oldText, "\r", pace)) || (await contains(newText, "\r", pace))) return texts;
  if (!(await contains(text, "\r\n", pace))) return texts;
  const occurs = await contains(text, oldText, pace);
  if (occurs && !form.hasCarriageReturns) return texts;
  // Of a file with both kinds of line ends, the lines that were found say how those in their place end.
  const isPlain = occurs && (await contains(oldText, "\n", pace));
  return {
    oldText: occurs ? oldText : await withCarriageReturns(oldText, pace),
    newText: isPlain ? newText : await withCarriageReturns(newText, pace),
  };
}

async function notFound(shown: string, text: string, oldText: string, pace: Pace): Promise<Error> {
  const hint = (await occursWithOtherSpaces(text, oldText, pace))
    ? " It occurs there with other spaces or line ends."
    : "";
  return new Error(
    `The old text does not occur in ${shown}.${hint} Read the file, and give the text exactly as it is.`,
  );
}

function linesOf({ count, lines }: Occurrences): string {
  return `${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}${count > lines.length ? ", …" : ""}`;
}
