/**
 * The tools `write_file` and `edit_file`.
 */
import type { Reconciled, Tool, ToolContext } from "../../ports/tool.js";
import { formatCount } from "../lib/format-count.js";
import {
  assertMaxLength,
  assertNoLoneSurrogates,
  maxContentCharacters,
  maxPathCharacters,
} from "../lib/input-bounds.js";
import { createPace, type Pace } from "../lib/pace.js";
import {
  byteOrderMark,
  containsText,
  convertToCrlf,
  describeKeptForm,
  detectTextForm,
  findOccurrences,
  type Occurrences,
  occursIgnoringWhitespace,
  replaceOccurrences,
  type TextForm,
} from "./edit-text.js";
import { runInFileQueue } from "./file-queue.js";
import { type Folder, statIn } from "./folder.js";
import { FileChangedError, replaceFile } from "./replace-file.js";
import { type Root, resolveForWriting, resolveInRoot, withParentFolder } from "./root.js";
import { countLines, maxFileBytes, readTextFile, readTextIn, requireText, type TextFile } from "./text-file.js";

type WriteInput = { readonly path: string; readonly content: string };

const pathSchema = { type: "string", maxLength: maxPathCharacters, description: "Relative to the root." } as const;

export function createWriteFile(root: Root): Tool<WriteInput, string> {
  return {
    name: "write_file",
    lenientInput: true,
    description:
      "Writes a whole text file: creates it, with its folders, or replaces its content. A file that is replaced keeps its line endings (\\r\\n) and its " +
      "byte order mark. To change part of a file, use edit_file.",
    input: {
      type: "object",
      properties: {
        path: pathSchema,
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
  assertMaxLength("The content", content, maxContentCharacters);
  assertNoLoneSurrogates("The content", content);
  const pace = createPace(signal);
  const lines = await countLines(content, pace);
  const resolved = await resolveForWriting(root, path);
  const { displayPath } = resolved;
  const write = (folder: Folder, name: string) =>
    runInFileQueue(folder, name, signal, async () => {
      const { text, kept } = await adaptToFile(folder, name, content, pace);
      return { ...(await replaceFile({ folder, name, displayPath, content: text, signal })), kept };
    });
  const { bytes, isNew, kept } = await withParentFolder(root, resolved, write, { make: true });
  const size = `${formatCount(bytes, "byte")}, ${formatCount(lines, "line")}`;
  return `Wrote ${displayPath} (${size}; ${isNew ? "a new file" : "replaced the old content"}${describeKeptForm(kept)})`;
}

/** Adapts the content to the file's line endings and byte order mark, and reports what was added. */
async function adaptToFile(
  folder: Folder,
  name: string,
  content: string,
  pace: Pace,
): Promise<{ readonly text: string; readonly kept: TextForm }> {
  const current = (await statIn(folder, name))?.isFile() === true ? await readTextIn(folder, name, name, pace) : null;
  if (current === null || "refused" in current) return { text: content, kept: noForm };
  return await adaptToForm(content, await detectTextForm(current.text, pace), pace);
}

const noForm: TextForm = { hasByteOrderMark: false, hasCarriageReturns: false };

/** Content that contains `\r` determines its own line endings. */
async function adaptToForm(
  content: string,
  form: TextForm,
  pace: Pace,
): Promise<{ readonly text: string; readonly kept: TextForm }> {
  const hasCarriageReturns =
    form.hasCarriageReturns && (await containsText(content, "\n", pace)) && !(await containsText(content, "\r", pace));
  const hasMark = form.hasByteOrderMark && content !== "" && !content.startsWith(byteOrderMark);
  const lines = hasCarriageReturns ? await convertToCrlf(content, pace) : content;
  return { text: hasMark ? byteOrderMark + lines : lines, kept: { hasByteOrderMark: hasMark, hasCarriageReturns } };
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
      "Replaces text in a file. The old text must match the file exactly, including white space and without line numbers, and must " +
      "occur exactly once unless replaceAll is set: include some surrounding lines to make it unique.",
    input: {
      type: "object",
      properties: {
        path: pathSchema,
        oldText: { type: "string", minLength: 1, maxLength: maxContentCharacters },
        newText: {
          type: "string",
          maxLength: maxContentCharacters,
          description: "May be empty, to remove the old text.",
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

/** How often an edit is attempted if another program changes the file in the meantime. */
const maxAttempts = 5;

async function editFile(root: Root, input: EditInput, { signal }: ToolContext): Promise<string> {
  assertEditable(input);
  const resolved = await resolveForWriting(root, input.path);
  const edit: PendingEdit = { ...input, displayPath: resolved.displayPath, signal, pace: createPace(signal) };
  return await withParentFolder(root, resolved, (folder, name) =>
    runInFileQueue(folder, name, signal, async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await editOnce(folder, name, edit);
        } catch (error) {
          if (!(error instanceof FileChangedError) || attempt === maxAttempts) throw error;
        }
      }
    }),
  );
}

/** @throws Error if a text is too long, empty or malformed, or if both texts are the same */
function assertEditable({ oldText, newText }: EditInput): void {
  assertMaxLength("oldText", oldText, maxContentCharacters);
  assertMaxLength("newText", newText, maxContentCharacters);
  if (oldText === "") throw new Error("oldText is empty. Give the text to replace.");
  // A lone surrogate would match half of a pair in the file, and damage the other half.
  assertNoLoneSurrogates("oldText", oldText);
  assertNoLoneSurrogates("newText", newText);
  if (oldText === newText)
    throw new Error("oldText and newText are the same, so there is nothing to change. Give a different newText.");
}

type PendingEdit = Omit<EditInput, "path"> & {
  readonly displayPath: string;
  readonly signal: AbortSignal;
  readonly pace: Pace;
};

async function editOnce(folder: Folder, name: string, edit: PendingEdit): Promise<string> {
  const { displayPath, signal, pace, replaceAll = false } = edit;
  const file = requireText(await readTextIn(folder, name, displayPath, pace), displayPath);
  if (file.isDamaged)
    throw new Error(
      `${displayPath} is not UTF-8, and editing it as text would damage it. Change it with another tool.`,
    );
  const form = await detectTextForm(file.text, pace);
  const { oldText, newText } = await adaptLineEnds(file, edit, form, pace);
  const found = await findOccurrences(file.text, oldText, pace);
  const { count } = found;
  if (count === 0) throw await createNotFoundError(displayPath, file.text, oldText, pace);
  if (count > 1 && !replaceAll)
    throw new Error(
      `The old text occurs ${count} times in ${displayPath} (${formatLines(found)}). Include more of the text around the right occurrence, or set replaceAll.`,
    );
  const bytes = file.bytes.length + count * (Buffer.byteLength(newText) - Buffer.byteLength(oldText));
  if (bytes > maxFileBytes)
    throw new Error(
      `${displayPath} would have ${bytes} bytes, and ${maxFileBytes} are allowed. Replace fewer occurrences, or use a shorter text.`,
    );
  const edited = await replaceOccurrences(file.text, oldText, newText, pace);
  const hasMark = form.hasByteOrderMark && !edited.startsWith(byteOrderMark);
  const content = hasMark ? byteOrderMark + edited : edited;
  await replaceFile({ folder, name, displayPath, content, snapshot: file, signal });
  const note = describeKeptForm({ hasByteOrderMark: hasMark, hasCarriageReturns: newText !== edit.newText });
  return `Replaced ${formatCount(count, "occurrence")} in ${displayPath} (${formatLines(found)}${note})`;
}

/** Determines from the file whether an interrupted edit took effect. An edit takes effect completely or not at all. */
async function reconcileEdit(root: Root, input: EditInput, pace: Pace): Promise<Reconciled> {
  assertEditable(input);
  const resolved = await resolveInRoot(root, input.path);
  const file = await readTextFile(root, resolved, pace);
  if ("refused" in file) return { status: "unknown" };
  const { oldText, newText } = await adaptLineEnds(file, input, await detectTextForm(file.text, pace), pace);
  const hasOld = await containsText(file.text, oldText, pace);
  const hasNew = newText === "" ? !hasOld : await containsText(file.text, newText, pace);
  // If both occur, the new text may have been there before the edit, or may contain the old text.
  if (hasOld && hasNew) return { status: "unknown" };
  if (hasOld) return { status: "not_started" };
  if (!hasNew) return { status: "unknown" };
  const output = `${resolved.displayPath} contains the new text and no longer the old text (checked after an interruption)`;
  return { status: "finished", output };
}

type EditTexts = Pick<EditInput, "oldText" | "newText">;

/** A model writes \n even for a file with \r\n. */
async function adaptLineEnds({ text }: TextFile, texts: EditTexts, form: TextForm, pace: Pace): Promise<EditTexts> {
  const { oldText, newText } = texts;
  if ((await containsText(oldText, "\r", pace)) || (await containsText(newText, "\r", pace))) return texts;
  if (!(await containsText(text, "\r\n", pace))) return texts;
  const occurs = await containsText(text, oldText, pace);
  if (occurs && !form.hasCarriageReturns) return texts;
  // In a file with both kinds of line endings, the matched lines determine those of their replacement.
  const isPlain = occurs && (await containsText(oldText, "\n", pace));
  return {
    oldText: occurs ? oldText : await convertToCrlf(oldText, pace),
    newText: isPlain ? newText : await convertToCrlf(newText, pace),
  };
}

async function createNotFoundError(displayPath: string, text: string, oldText: string, pace: Pace): Promise<Error> {
  const hint = (await occursIgnoringWhitespace(text, oldText, pace))
    ? " It occurs with different white space or line endings."
    : "";
  return new Error(`The old text does not occur in ${displayPath}.${hint} Read the file, and copy the text exactly.`);
}

function formatLines({ count, lines }: Occurrences): string {
  return `${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}${count > lines.length ? ", …" : ""}`;
}
