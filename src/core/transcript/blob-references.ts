/**
 * References from the log to blobs in the store: prompts, tool specifications, truncated outputs and files.
 */

import type { FilePart, Message, ToolOutput } from "../data/message.js";
import type { Event } from "../machine/event.js";
import type { MessageRef } from "../machine/message-ref.js";
import type { SourceReference } from "../machine/sources.js";

/** Marks a file part whose data is the hash of a blob and its size. A colon cannot occur in base64. */
export const blobScheme = "blob:";

/** A file whose content is a blob of the session. */
export function toBlobFile(file: FilePart, blob: string, bytes: number): FilePart {
  return { ...file, data: `${blobScheme}${blob}/${bytes}` };
}

/** The blob that holds a file; undefined if the message holds the file itself or a URL. */
export function blobOf({ data }: FilePart): string | undefined {
  return data.startsWith(blobScheme) ? data.slice(blobScheme.length).split("/")[0] : undefined;
}

/** The size of a file in bytes; undefined if the file is at a URL. */
export function fileSize(file: FilePart): number | undefined {
  if (isUrlFile(file)) return undefined;
  if (blobOf(file) !== undefined) return Number(file.data.split("/")[1]);
  return Math.floor((file.data.replace(/=+$/, "").length * 3) / 4);
}

export function isUrlFile({ data }: FilePart): boolean {
  return /^https?:/i.test(data.slice(0, 8));
}

/** Describes a file as text: its media type, its name, and its size or URL. */
export function describeFile(file: FilePart): string {
  const { mediaType, filename } = file;
  const bytes = fileSize(file);
  const name = filename === undefined ? [] : [filename];
  return [mediaType, ...name, bytes === undefined ? file.data : `${bytes} bytes`].join(", ");
}

/** The blobs that an output refers to. */
export function blobsOfOutput(output: ToolOutput): readonly string[] {
  const whole = output.type !== "json" && output.full !== undefined ? [output.full.blob] : [];
  const files = output.type === "content" ? output.parts.filter((part) => part.type === "file") : [];
  return [...whole, ...files.flatMap((file) => blobOf(file) ?? [])];
}

/** The output of an event that a model sees; undefined if there is none. */
export function outputIn(event: Event): ToolOutput | undefined {
  switch (event.type) {
    case "tool_finished":
    case "late_result":
      return event.output;
    case "answered":
      return event.answer.type === "result" ? event.answer.output : undefined;
    default:
      return undefined;
  }
}

/** The tool's own return value, if the model sees a different output. */
function returnedIn(event: Event): ToolOutput | undefined {
  return event.type === "tool_finished" || event.type === "late_result" ? event.returned : undefined;
}

function blobsOfRef(ref: MessageRef): readonly string[] {
  if ("message" in ref) return blobsOfMessages([ref.message]);
  return "blob" in ref ? [ref.blob] : [];
}

function blobsOfSources(sources: readonly SourceReference[] | undefined): readonly string[] {
  return sources === undefined ? [] : sources.map(({ blob }) => blob);
}

/** The blobs that an event refers to. A fork copies them; a log without them is damaged. */
export function blobsOf(event: Event): readonly string[] {
  if (event.type === "handed_off") return (event.messages ?? []).flatMap(blobsOfRef);
  if (event.type === "history_added") return blobsOfMessages(event.messages);
  if (event.type === "tool_step_finished") return event.valueBlob === undefined ? [] : [event.valueBlob.blob];
  if (event.type === "prepared")
    return [
      event.promptHash ?? [],
      event.toolsHash ?? [],
      (event.messages ?? []).flatMap(blobsOfRef),
      blobsOfSources(event.sources),
      event.runPrompt?.blob ?? [],
    ].flat();
  if (event.type === "compacted")
    return [
      ...(event.requests ?? []).flatMap(({ prompt, text }) => [prompt, text]),
      ...blobsOfSources(event.sources?.list),
      ...(event.runPrompt === undefined ? [] : [event.runPrompt.blob]),
      ...(event.dataBlob === undefined ? [] : [event.dataBlob]),
    ];
  return [outputIn(event), returnedIn(event)].flatMap((output) => (output === undefined ? [] : blobsOfOutput(output)));
}

function blobsOfMessages(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ parts }) =>
    (parts as readonly Message["parts"][number][]).flatMap((part) => {
      if (part.type === "tool_result") return blobsOfOutput(part.output);
      return part.type === "file" ? (blobOf(part) ?? []) : [];
    }),
  );
}
