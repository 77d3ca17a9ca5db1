/**
 * The conversation as one model can take it. Old results are left out if the run's options say so. Files are read
 * from their blobs; a file that this model cannot take becomes a sentence about it.
 *
 * A message is made ready for a model once, and is the same object in every later request.
 */

import { freeze } from "../../core/data/freeze.js";
import type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  Message,
  TextPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
  UserMessage,
} from "../../core/data/message.js";
import { blobOf, describeFile } from "../../core/transcript/blob-references.js";
import { seqOfShown } from "../../core/transcript/results.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { trimmedMessages } from "../../core/transcript/trim.js";
import { base64Of } from "../../platform/bytes.js";
import type { Model } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import type { MaybePromise } from "../lib/coroutine.js";

type Ready = WeakMap<Message, Message>;

const readyFor = new WeakMap<Pick<Model, "takesInResults">, Ready>();

type Source = { readonly sessionId: string; readonly store: Pick<Store, "getBlob"> };

/**
 * Answers at once, unless a blob has to be read.
 * @param list what is sent instead of the conversation; null: nothing
 */
export function requestMessages(
  transcript: Pick<Transcript, "messages" | "shownResults">,
  list: readonly Message[] | null,
  model: Pick<Model, "takesInResults">,
  source: Source,
): MaybePromise<readonly Message[]> {
  const messages = list ?? trimmedMessages(transcript);
  if (list === null && !transcript.shownResults.hasFiles) return messages;
  const ready = readyFor.get(model) ?? new WeakMap<Message, Message>();
  readyFor.set(model, ready);
  const shown = messages.map((message) => (holdsFiles(message) ? (ready.get(message) ?? message) : message));
  const missing = messages.flatMap((message, index) =>
    holdsFiles(message) && shown[index] === message ? [{ message, index }] : [],
  );
  if (missing.length === 0) return shown;
  return Promise.all(
    missing.map(async ({ message, index }) => {
      const made = message.role === "tool" ? await makeReady(message, model, source) : await withBytes(message, source);
      ready.set(message, made);
      shown[index] = made;
    }),
  ).then(() => shown);
}

function holdsFiles(message: Message): boolean {
  if (message.role === "tool") return message.parts.some(({ output }) => filesOf(output).length > 0);
  return message.parts.some((part) => part.type === "file" && blobOf(part) !== undefined);
}

/** A message of a seeded conversation, with the bytes of its files. */
async function withBytes<Shown extends UserMessage | AssistantMessage>(message: Shown, source: Source): Promise<Shown> {
  const parts = (message.parts as readonly AssistantPart[]).map((part) =>
    part.type === "file" ? contentOf(part, source) : part,
  );
  return freeze({ ...message, parts: await Promise.all(parts) });
}

function filesOf(output: ToolOutput): readonly FilePart[] {
  return output.type === "content" ? output.parts.filter((part) => part.type === "file") : [];
}

async function makeReady(
  message: ToolMessage,
  { takesInResults = isMedia }: Pick<Model, "takesInResults">,
  source: Source,
): Promise<ToolMessage> {
  const parts = message.parts.map(async (part): Promise<ToolResultPart> => {
    if (part.output.type !== "content") return part;
    const made = part.output.parts.map((content) => {
      if (content.type === "text") return content;
      if (takesInResults(content.mediaType)) return contentOf(content, source);
      return inWords(content, seqOfShown(part), "which this model cannot be shown");
    });
    return { ...part, output: joined(await Promise.all(made)) };
  });
  return freeze({ role: "tool", parts: await Promise.all(parts) });
}

/** The files that a model takes unless it says otherwise. */
function isMedia(mediaType: string): boolean {
  return /^(image|audio|video)\/|^application\/pdf$/i.test(mediaType);
}

async function contentOf(file: FilePart, { sessionId, store }: Source): Promise<FilePart | TextPart> {
  const blob = blobOf(file);
  if (blob === undefined) return file;
  const bytes = await store.getBlob(sessionId, blob);
  if (bytes === null) return inWords(file, undefined, "which is missing in the store");
  return { ...file, data: base64Of(bytes) };
}

function inWords(file: FilePart, seq: number | undefined, why: string): TextPart {
  const where = seq === undefined || blobOf(file) === undefined ? "" : `; it is kept as output ${seq}`;
  return { type: "text", text: `[${describeFile(file)}, ${why}${where}]` };
}

/** Text alone becomes a plain text output, which providers without content outputs take as well. */
function joined(parts: readonly (TextPart | FilePart)[]): ToolOutput {
  const texts = parts.flatMap((part) =>
    part.type === "text" && part.providerMetadata === undefined ? [part.text] : [],
  );
  return texts.length === parts.length ? { type: "text", text: texts.join("\n") } : { type: "content", parts };
}
