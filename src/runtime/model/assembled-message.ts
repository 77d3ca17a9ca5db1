/**
 * Reads an assembly: the message so far, the parts that may still grow, and the end of the attempt.
 */
import { defined } from "../../core/data/defined.js";
import type {
  AssistantMessage,
  AssistantPart,
  FinishReason,
  ModelFailure,
  ProviderMetadata,
  Usage,
} from "../../core/data/message.js";
import { type MessageAssembly, metadata, type OpenPart } from "./message-assembly.js";

/** The whole message. Empty parts are omitted, except for those with metadata. */
export function toMessage(assembly: MessageAssembly): AssistantMessage {
  const parts = assembly.parts.map(toPart);
  // Filters only if necessary: messages stay in memory, and a filtered array has spare capacity.
  return { role: "assistant", parts: parts.every(hasContent) ? parts : parts.filter(hasContent) };
}

function hasContent(part: AssistantPart): boolean {
  return !("text" in part) || part.text !== "" || part.providerMetadata !== undefined;
}

/** A text part that may still grow. */
export type OpenTextPart = {
  /** The id in the deltas. */
  readonly id: string;
  /** The kind of the part. */
  readonly type: "text" | "reasoning";
  /** The index of the part in the message. */
  readonly index: number;
};

/** The arguments of a tool call as far as the model has written them. */
export type WrittenInput = {
  /** The id in the deltas. */
  readonly id: string;
  readonly name: string;
  /** The arguments so far. */
  readonly text: string;
  /** Whether the model's provider runs the call. */
  readonly providerExecuted?: true;
};

/** The message so far, its parts that may still grow, and the arguments of incomplete calls. */
export function toPartial(assembly: MessageAssembly): {
  readonly message: AssistantMessage;
  readonly open: readonly OpenTextPart[];
  readonly inputs: readonly WrittenInput[];
} {
  const open = [...(assembly.open.text ?? []), ...(assembly.open.reasoning ?? [])].map(
    ([id, part]): OpenTextPart => ({ id, type: part.type, index: assembly.parts.indexOf(part) }),
  );
  const inputs = [...(assembly.inputs ?? [])].map(
    ([id, { name, texts, providerExecuted }]): WrittenInput => ({
      id,
      name,
      text: texts.join(""),
      ...(providerExecuted ? { providerExecuted } : {}),
    }),
  );
  return { message: { role: "assistant", parts: assembly.parts.map(toPart) }, open, inputs };
}

function toPart(open: OpenPart): AssistantPart {
  if (open.type === "whole") return open.part;
  const { type, texts, providerMetadata } = open;
  const text = texts.length === 1 ? (texts[0] ?? "") : texts.join("");
  return { type, text, ...metadata(providerMetadata) };
}

type AttemptEnd =
  | {
      readonly type: "done";
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly providerMetadata?: ProviderMetadata;
    }
  | { readonly type: "failed"; readonly failure: ModelFailure; readonly usage?: Usage };

/** How an attempt ended. */
export function findEnd({ end }: MessageAssembly): AttemptEnd {
  if (end === null) return { type: "failed", failure: { kind: "network", message: "The stream did not end." } };
  if (end.kind === "error") return { type: "failed", failure: end.failure, ...defined({ usage: end.usage }) };
  const { finishReason, usage, providerMetadata } = end;
  return { type: "done", finishReason, usage, ...metadata(providerMetadata) };
}
