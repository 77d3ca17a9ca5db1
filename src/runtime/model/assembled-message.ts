/**
 * What an assembly has so far: the message, the parts that may still grow, and how it ended.
 */
import type {
  AssistantMessage,
  AssistantPart,
  FinishReason,
  ModelFailure,
  ProviderMetadata,
  Usage,
} from "../../core/data/message.js";
import { type MessageAssembly, metadata, type OpenPart } from "./message-assembly.js";

/** The whole message. Empty parts are left out, but for those that carry metadata. */
export function messageOf(assembly: MessageAssembly): AssistantMessage {
  const parts = assembly.parts.map(partOf);
  // Messages are kept, and a filtered array has room for more.
  return { role: "assistant", parts: parts.every(isSaid) ? parts : parts.filter(isSaid) };
}

function isSaid(part: AssistantPart): boolean {
  return !("text" in part) || part.text !== "" || part.providerMetadata !== undefined;
}

/** A part of text that may still grow, and its place in the message. */
export type OpenTextPart = { readonly id: string; readonly type: "text" | "reasoning"; readonly index: number };

/** The message so far, and where it may grow. */
export function partialOf(assembly: MessageAssembly): {
  readonly message: AssistantMessage;
  readonly open: readonly OpenTextPart[];
} {
  const open = [...(assembly.open.text ?? []), ...(assembly.open.reasoning ?? [])].map(
    ([id, part]): OpenTextPart => ({ id, type: part.type, index: assembly.parts.indexOf(part) }),
  );
  return { message: { role: "assistant", parts: assembly.parts.map(partOf) }, open };
}

function partOf(open: OpenPart): AssistantPart {
  if (open.type === "whole") return open.part;
  const { type, texts, providerMetadata } = open;
  const text = texts.length === 1 ? (texts[0] ?? "") : texts.join("");
  return { type, text, ...metadata(providerMetadata) };
}

/** How an attempt ended; null while it goes on. */
export function endOf(assembly: MessageAssembly):
  | {
      readonly type: "done";
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly providerMetadata?: ProviderMetadata;
    }
  | { readonly type: "failed"; readonly failure: ModelFailure; readonly usage?: Usage }
  | null {
  const { end } = assembly;
  if (end === null) return null;
  if (end.kind === "error")
    return { type: "failed", failure: end.failure, ...(end.usage === undefined ? {} : { usage: end.usage }) };
  const { finishReason, usage, providerMetadata } = end;
  return { type: "done", finishReason, usage, ...metadata(providerMetadata) };
}
