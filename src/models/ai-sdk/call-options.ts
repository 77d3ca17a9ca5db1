/**
 * The arguments of the AI SDK's `doStream` that Pawl uses, for specifications v3 and v4.
 */
import type { Json, ProviderMetadata } from "../../core/data/message.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { JsonSchema, ModelRequest } from "../../ports/model.js";

export type SpecificationVersion = "v3" | "v4";

export type WithOptions = { readonly providerOptions?: ProviderMetadata };

export type FileData =
  | string
  | URL
  | { readonly type: "data"; readonly data: string }
  | { readonly type: "url"; readonly url: URL };

export type PromptFile = WithOptions & {
  readonly type: "file";
  readonly mediaType: string;
  readonly data: FileData;
  readonly filename?: string;
};

export type PromptContent = WithOptions &
  (
    | { readonly type: "text"; readonly text: string }
    | { readonly type: "file"; readonly mediaType: string; readonly data: FileData; readonly filename?: string }
    | { readonly type: "file-data" | "image-data"; readonly mediaType: string; readonly data: string }
    | { readonly type: "file-url" | "image-url"; readonly url: string }
    /** The content is in the provider's options. */
    | { readonly type: "custom" }
  );

export type PromptOutput =
  | { readonly type: "text" | "error-text"; readonly value: string }
  | { readonly type: "json" | "error-json"; readonly value: Json }
  | { readonly type: "content"; readonly value: readonly PromptContent[] };

export type PromptPart = WithOptions &
  (
    | { readonly type: "text" | "reasoning"; readonly text: string }
    | PromptFile
    | { readonly type: "reasoning-file"; readonly mediaType: string; readonly data: FileData }
    | { readonly type: "custom"; readonly kind: string }
    | {
        readonly type: "tool-call";
        readonly toolCallId: string;
        readonly toolName: string;
        readonly input: Json;
        readonly providerExecuted?: true;
      }
    | {
        readonly type: "tool-result";
        readonly toolCallId: string;
        readonly toolName: string;
        readonly output: PromptOutput;
      }
    | {
        readonly type: "tool-approval-response";
        readonly approvalId: string;
        readonly approved: boolean;
        readonly reason?: string;
      }
  );

export type PromptMessage = WithOptions &
  (
    | { readonly role: "system"; readonly content: string }
    | { readonly role: "user" | "assistant" | "tool"; readonly content: readonly PromptPart[] }
  );

export type PromptTool = WithOptions & {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly strict?: boolean;
  readonly inputExamples?: readonly { readonly input: Json }[];
};

/** A tool that the provider defines. The provider runs it, or asks Pawl to run it. */
export type ProviderTool = {
  readonly type: "provider";
  /** The provider's id of the tool, such as `openai.shell`. */
  readonly id: `${string}.${string}`;
  /** The name by which the model calls it. */
  readonly name: string;
  /** The settings of the tool. */
  readonly args: { readonly [key: string]: unknown };
};

export type PromptToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "tool"; readonly toolName: string };

/** Settings. Neither specification has `parallelToolCalls`, and v3 has no `reasoning`: see `toProviderSettings`. */
type CallSettings = Omit<ModelSettings, "stopSequences" | "parallelToolCalls"> & { readonly stopSequences?: string[] };

export type CallOptions = CallSettings & {
  readonly prompt: readonly PromptMessage[];
  readonly tools?: readonly (PromptTool | ProviderTool)[];
  readonly toolChoice?: PromptToolChoice;
  readonly responseFormat?: NonNullable<ModelRequest["responseFormat"]>;
  readonly providerOptions?: ProviderMetadata;
  readonly abortSignal: AbortSignal;
};
