/**
 * The part of an agent that makes conversations smaller: its options, checked, and what they come to for a model.
 */

import { PawlError } from "../errors.js";
import type { CompactionService } from "../ports/compaction.js";
import type { Model } from "../ports/model.js";
import { createCompactionService } from "./compaction.js";

export type CompactionOptions<ModelLike = Model> = {
  /** False: nothing is made smaller by itself, not even where the context window is full; true. */
  readonly auto?: boolean;
  /** Tokens that the agent's models can take in and give out together; what the model says, or is known of it, unless given. */
  readonly contextWindow?: number;
  /** Tokens that are kept free for an answer; 16,384, or a quarter of a context window that is smaller than four times that. */
  readonly reservedOutput?: number;
  /** The part of the budget (the window without what is reserved) from which on a conversation is made smaller; 0.75. */
  readonly triggerRatio?: number;
  /** The part of the budget that it takes afterwards, at most; 0.4. */
  readonly targetRatio?: number;
  /** The last turns are kept as they are, where they fit; 4. */
  readonly keepTurns?: number;
  /** The model that sums up; the agent's own unless given. */
  readonly model?: ModelLike;
  /** Instructions for it, in the place of the built-in ones. */
  readonly prompt?: string;
  /** What it is to take care of, beside its instructions. */
  readonly directives?: string;
};

export type Compaction = {
  /** Conversations are made smaller where that is due. */
  readonly auto: boolean;
  /** The model that sums up; null for the agent's own. */
  readonly model: Model | null;
  readonly budgetOf: (model: Model) => Budget;
};

/** What a model can be sent, in tokens; `isKnown` is false where its window is not known and this is a guess. */
export type Budget = { readonly tokens: number; readonly isKnown: boolean };

/** The budget where nothing is known. */
export const unknownBudget = 32_000;

const mostReserved = 16_384;

type CompactionDefaults<ModelLike> = {
  readonly asModel: (model: ModelLike) => Model;
  readonly contextWindows: { readonly [modelId: string]: number };
};

/** @throws PawlError `bad_configuration` */
export function compileCompaction<ModelLike>(
  options: CompactionOptions<ModelLike> | null | undefined,
  { asModel, contextWindows }: CompactionDefaults<ModelLike>,
): Compaction {
  const given = options ?? {};
  const { auto = true, model } = given;
  return {
    auto: auto && options !== null,
    model: model === undefined ? null : asModel(model),
    budgetOf: (one) => budgetOf(one, given, contextWindows),
  };
}

/** The built-in service. @throws PawlError `bad_configuration` */
export function compactionServiceOf(options: CompactionOptions<unknown> | null | undefined): CompactionService | null {
  if (options === null) return null;
  checkOptions(options ?? {});
  const { triggerRatio = 0.75, targetRatio = 0.4, keepTurns = 4, prompt, directives } = options ?? {};
  if (targetRatio >= triggerRatio)
    throw misconfigured(`targetRatio is ${targetRatio}, and must be below triggerRatio, which is ${triggerRatio}`);
  const wishes = { ...(prompt === undefined ? {} : { prompt }), ...(directives === undefined ? {} : { directives }) };
  return createCompactionService({ triggerRatio, targetRatio, keepTurns, ...wishes });
}

function budgetOf(
  { id, contextWindow }: Model,
  given: Pick<CompactionOptions, "contextWindow" | "reservedOutput">,
  windows: CompactionDefaults<never>["contextWindows"],
): Budget {
  const known = given.contextWindow ?? contextWindow ?? windowIn(windows, id);
  if (known === undefined) return { tokens: unknownBudget, isKnown: false };
  const reserved = given.reservedOutput ?? Math.min(mostReserved, Math.floor(known / 4));
  return { tokens: Math.max(1, known - reserved), isKnown: true };
}

function windowIn(windows: CompactionDefaults<never>["contextWindows"], modelId: string): number | undefined {
  const undated = modelId.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, "");
  return [modelId, undated].flatMap((id) => (Object.hasOwn(windows, id) ? [windows[id]] : []))[0];
}

const wanted = {
  auto: { takes: (value) => typeof value === "boolean", what: "true or false" },
  contextWindow: { takes: isCount, what: "a whole number of tokens, 1 or more" },
  reservedOutput: { takes: isCount, what: "a whole number of tokens, 1 or more" },
  triggerRatio: { takes: isRatio, what: "a number above 0, up to 1" },
  targetRatio: { takes: isRatio, what: "a number above 0, up to 1" },
  keepTurns: { takes: isCount, what: "a whole number, 1 or more" },
  model: { takes: () => true, what: "a model" },
  prompt: { takes: (value) => typeof value === "string" && value !== "", what: "a text" },
  directives: { takes: (value) => typeof value === "string" && value !== "", what: "a text" },
} as const satisfies {
  readonly [Name in keyof CompactionOptions]-?: { readonly takes: (value: unknown) => boolean; readonly what: string };
};

function checkOptions(options: CompactionOptions<unknown>): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(wanted, name))
      throw misconfigured(`there is no ${name}; there are ${Object.keys(wanted).join(", ")}`);
    const { takes, what } = wanted[name as keyof typeof wanted];
    if (value !== undefined && !takes(value)) throw misconfigured(`${name} is ${String(value)}; it must be ${what}`);
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isRatio(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value <= 1;
}

function misconfigured(what: string): PawlError {
  return new PawlError("bad_configuration", `In the options of compaction, ${what}. Leave it out for its default.`);
}
