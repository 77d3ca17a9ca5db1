/**
 * The conversation in the form that a model accepts. Old results are omitted if the run's options say so. Files are read from their blobs;
 * a file that the model does not accept becomes a sentence about it.
 *
 * A message is prepared for a model once, and is the same object in every later request.
 */

import { deepFreeze } from "../../core/data/freeze.js";
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
import { findResultSeq } from "../../core/transcript/results.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { trimMessages } from "../../core/transcript/trim-results.js";
import { encodeBase64 } from "../../platform/bytes.js";
import type { Model } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import type { MaybePromise } from "../lib/coroutine.js";

type PreparedMessages = WeakMap<Message, Message>;

const preparedByModel = new WeakMap<Pick<Model, "takesInResults">, PreparedMessages>();

type BlobSource = { readonly sessionId: string; readonly store: Pick<Store, "getBlob"> };

/**
 * Synchronous, unless a blob has to be read.
 * @param list the messages to send instead of the conversation; null to send the conversation
 */
export function buildRequestMessages(
  transcript: Pick<Transcript, "messages" | "shownResults">,
  list: readonly Message[] | null,
  model: Pick<Model, "takesInResults">,
  source: BlobSource,
): MaybePromise<readonly Message[]> {
  const messages = list ?? trimMessages(transcript);
  if (list === null && !transcript.shownResults.hasFiles) return messages;
  const prepared = preparedByModel.get(model) ?? new WeakMap<Message, Message>();
  preparedByModel.set(model, prepared);
  const shown = messages.map((message) => (hasFiles(message) ? (prepared.get(message) ?? message) : message));
  const missing = messages.flatMap((message, index) =>
    hasFiles(message) && shown[index] === message ? [{ message, index }] : [],
  );
  if (missing.length === 0) return shown;
  return Promise.all(
    missing.map(async ({ message, index }) => {
      const made =
        message.role === "tool" ? await prepareToolMessage(message, model, source) : await inlineFiles(message, source);
      prepared.set(message, made);
      shown[index] = made;
    }),
  ).then(() => shown);
}

function hasFiles(message: Message): boolean {
  if (message.role === "tool") return message.parts.some(({ output }) => listFiles(output).length > 0);
  return message.parts.some((part) => part.type === "file" && blobOf(part) !== undefined);
}

/** Loads the files of a message of an imported conversation. */
async function inlineFiles<Shown extends UserMessage | AssistantMessage>(
  message: Shown,
  source: BlobSource,
): Promise<Shown> {
  const parts = (message.parts as readonly AssistantPart[]).map((part) =>
    part.type === "file" ? loadFile(part, source) : part,
  );
  return deepFreeze({ ...message, parts: await Promise.all(parts) });
}

function listFiles(output: ToolOutput): readonly FilePart[] {
  return output.type === "content" ? output.parts.filter((part) => part.type === "file") : [];
}

async function prepareToolMessage(
  message: ToolMessage,
  { takesInResults = isMedia }: Pick<Model, "takesInResults">,
  source: BlobSource,
): Promise<ToolMessage> {
  const parts = message.parts.map(async (part): Promise<ToolResultPart> => {
    if (part.output.type !== "content") return part;
    const made = part.output.parts.map((content) => {
      if (content.type === "text") return content;
      if (takesInResults(content.mediaType)) return loadFile(content, source);
      return describeFileInWords(content, findResultSeq(part), "which this model cannot be shown");
    });
    return { ...part, output: joinParts(await Promise.all(made)) };
  });
  return deepFreeze({ role: "tool", parts: await Promise.all(parts) });
}

/** Whether a model accepts such files by default. */
function isMedia(mediaType: string): boolean {
  return /^(image|audio|video)\/|^application\/pdf$/i.test(mediaType);
}

async function loadFile(file: FilePart, { sessionId, store }: BlobSource): Promise<FilePart | TextPart> {
  const blob = blobOf(file);
  if (blob === undefined) return file;
  const bytes = await store.getBlob(sessionId, blob);
  if (bytes === null) return describeFileInWords(file, undefined, "which is missing in the store");
  return { ...file, data: encodeBase64(bytes) };
}

function describeFileInWords(file: FilePart, seq: number | undefined, why: string): TextPart {
  const where = seq === undefined || blobOf(file) === undefined ? "" : `; it is kept as output ${seq}`;
  return { type: "text", text: `[${describeFile(file)}, ${why}${where}]` };
}

/** Text alone becomes a plain text output, which providers without content outputs also accept. */
function joinParts(parts: readonly (TextPart | FilePart)[]): ToolOutput {
  const texts = parts.flatMap((part) =>
    part.type === "text" && part.providerMetadata === undefined ? [part.text] : [],
  );
  return texts.length === parts.length ? { type: "text", text: texts.join("\n") } : { type: "content", parts };
}
