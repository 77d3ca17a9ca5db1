/**
 * Tool call ids in the form that a provider accepts.
 *
 * An id is sent back unchanged wherever possible, because some models read their own ids. Kimi K2, for example, finds the
 * name of the tool in `functions.get_weather:0`, and stops calling tools when it sees other ids. An id is rewritten only for
 * a provider that is known to refuse it. That happens when a conversation changes to another model.
 */
import type { ToolCallPart, ToolResultPart } from "../../core/data/message.js";
import { sha256 } from "../../platform/hash.js";
import type { LanguageModel } from "./language-model.js";

/** The model that a request is for. */
export type ModelIdentity = Pick<LanguageModel, "provider" | "modelId">;

type IdRule = {
  readonly appliesTo: (model: ModelIdentity) => boolean;
  readonly accepts: RegExp;
  /** Deterministic, and different for different ids. */
  readonly rewrite: (id: string) => string;
};

/** A readable prefix, then a hash that keeps different ids different. */
function shortenId(id: string): string {
  return `${id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 23)}_${sha256(id).slice(0, 16)}`;
}

const base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Nine base-62 digits, from 53 bits of a hash. */
function toNineCharacters(id: string): string {
  let rest = BigInt(`0x${sha256(id)}`) % 62n ** 9n;
  let text = "";
  for (let index = 0; index < 9; index += 1) {
    text += base62Digits[Number(rest % 62n)];
    rest /= 62n;
  }
  return text;
}

/** The first rule that applies is used. Model ids are searched because gateways and clouds serve models of many providers. */
const idRules: readonly IdRule[] = [
  {
    // "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9."
    appliesTo: ({ provider, modelId }) =>
      /(^|\.)mistral\b/.test(provider) || /(mis|minis|magis)tral|mixtral|codestral|devstral|pixtral/i.test(modelId),
    accepts: /^[A-Za-z0-9]{9}$/,
    rewrite: toNineCharacters,
  },
  {
    // Anthropic's `tool_use.id`, and Bedrock's `toolUseId`, which has the same alphabet for all of its models.
    appliesTo: ({ provider, modelId }) => /(^|\.)anthropic\b|bedrock/.test(provider) || /claude/i.test(modelId),
    accepts: /^[A-Za-z0-9_-]{1,64}$/,
    rewrite: shortenId,
  },
  {
    // OpenAI's Responses API: `call_id` has at most 64 characters.
    appliesTo: ({ provider }) => /^(openai|azure|azure-openai)\.responses$/.test(provider),
    accepts: /^.{1,64}$/su,
    rewrite: shortenId,
  },
  {
    // OpenAI's chat completions: at most 40 characters. The open-weight models are served by others.
    appliesTo: ({ provider, modelId }) =>
      /^(openai|azure|azure-openai)\.chat$/.test(provider) || /^openai\/(?!gpt-oss)/.test(modelId),
    accepts: /^.{1,40}$/su,
    rewrite: shortenId,
  },
];

const defaultRule: Pick<IdRule, "accepts" | "rewrite"> = { accepts: /./su, rewrite: shortenId };

/**
 * Maps a call or result to its id in the requests to a model. A call and its result get the same id in every request. A call that
 * the provider ran keeps its id, because the provider knows it.
 */
export function createCallIdMapper(model: ModelIdentity): (part: ToolCallPart | ToolResultPart) => string {
  const { accepts, rewrite } = idRules.find((rule) => rule.appliesTo(model)) ?? defaultRule;
  return ({ toolCallId: id, providerExecuted }) => (providerExecuted === true || accepts.test(id) ? id : rewrite(id));
}
