/**
 * Checks the compaction options, and derives each model's token budget from them.
 */

import {
  aBoolean,
  anyValue,
  checkOptions,
  integerFrom,
  nonEmptyString,
  type OptionTable,
  ratio,
} from "../check-options.js";
import { withoutDate } from "../core/data/model-id.js";
import { PawlError } from "../errors.js";
import type { CompactionService } from "../ports/compaction.js";
import type { Model } from "../ports/model.js";
import { createCompactionService } from "./compaction-service.js";

/** When a conversation is compacted, how far, and by which model. */
export type CompactionOptions<ModelLike = Model> = {
  /** If false, Pawl never compacts a conversation on its own, even if the context window is full. Default: true. */
  readonly auto?: boolean;
  /**
   * The context window of the agent's models, in tokens: input and output together. Default: the model's own `contextWindow`, otherwise the
   * built-in list.
   */
  readonly contextWindow?: number;
  /** Tokens reserved for an answer. Default: 16,384, or a quarter of the context window if that is less. */
  readonly reservedOutput?: number;
  /**
   * The share of the budget at which a conversation is compacted. The budget is the context window minus the reserved output. Default:
   * 0.75.
   */
  readonly triggerRatio?: number;
  /** The maximum share of the budget that a conversation takes after a compaction. Default: 0.4. */
  readonly targetRatio?: number;
  /** How many of the last turns are kept unchanged, if they fit. Default: 4. */
  readonly keepTurns?: number;
  /** The model that writes the summary. Default: the agent's own model. */
  readonly model?: ModelLike;
  /** The summarizer's instructions, in place of the built-in ones. */
  readonly prompt?: string;
  /** Added to the summarizer's instructions. */
  readonly directives?: string;
};

export type Compaction = {
  readonly auto: boolean;
  /** The model that writes the summary; null means the agent's own model. */
  readonly model: Model | null;
  readonly computeBudget: (model: Model) => Budget;
};

/** The maximum number of tokens to send to a model. If `isKnown` is false, the model's context window is unknown and this is a guess. */
export type Budget = { readonly tokens: number; readonly isKnown: boolean };

/** The budget of a model whose context window is unknown, in tokens. */
export const defaultBudget = 32_000;

const defaultReservedOutput = 16_384;

type CompactionDefaults<ModelLike> = {
  readonly asModel: (model: ModelLike) => Model;
  readonly contextWindows: { readonly [modelId: string]: number };
};

/** @throws PawlError `bad_configuration` */
export function compileCompaction<ModelLike>(
  options: CompactionOptions<ModelLike> | null | undefined,
  { asModel, contextWindows }: CompactionDefaults<ModelLike>,
): Compaction {
  const settings = options ?? {};
  const { auto = true, model } = settings;
  const budgets = new WeakMap<Model, { readonly contextWindow: number | undefined; readonly budget: Budget }>();
  return {
    auto: auto && options !== null,
    model: model === undefined ? null : asModel(model),
    computeBudget(called) {
      const { contextWindow } = called;
      const known = budgets.get(called);
      // A model may learn its context window from its server after its first call.
      if (known !== undefined && known.contextWindow === contextWindow) return known.budget;
      const budget = computeBudget(called, settings, contextWindows);
      budgets.set(called, { contextWindow, budget });
      return budget;
    },
  };
}

/** The built-in service, or null if compaction is turned off. @throws PawlError `bad_configuration` */
export function compileCompactionService(
  options: CompactionOptions<unknown> | null | undefined,
): CompactionService | null {
  if (options === null) return null;
  checkOptions("compaction", compactionRules, options ?? {});
  const { triggerRatio = 0.75, targetRatio = 0.4, keepTurns = 4, prompt, directives } = options ?? {};
  if (targetRatio >= triggerRatio)
    throw new PawlError(
      "bad_configuration",
      `compaction.targetRatio is ${targetRatio}; it must be below triggerRatio, which is ${triggerRatio}.`,
    );
  const texts = { ...(prompt === undefined ? {} : { prompt }), ...(directives === undefined ? {} : { directives }) };
  return createCompactionService({ triggerRatio, targetRatio, keepTurns, ...texts });
}

function computeBudget(
  { id, contextWindow }: Model,
  settings: Pick<CompactionOptions, "contextWindow" | "reservedOutput">,
  windows: CompactionDefaults<never>["contextWindows"],
): Budget {
  const windowTokens = settings.contextWindow ?? contextWindow ?? findWindow(windows, id);
  if (windowTokens === undefined) return { tokens: defaultBudget, isKnown: false };
  const reserved = settings.reservedOutput ?? Math.min(defaultReservedOutput, Math.floor(windowTokens / 4));
  return { tokens: Math.max(1, windowTokens - reserved), isKnown: true };
}

function findWindow(windows: CompactionDefaults<never>["contextWindows"], modelId: string): number | undefined {
  return [modelId, withoutDate(modelId)].flatMap((id) => (Object.hasOwn(windows, id) ? [windows[id]] : []))[0];
}

const compactionRules: OptionTable<CompactionOptions<unknown>> = {
  auto: aBoolean,
  contextWindow: integerFrom(1, "tokens"),
  reservedOutput: integerFrom(1, "tokens"),
  triggerRatio: ratio,
  targetRatio: ratio,
  keepTurns: integerFrom(1),
  model: anyValue,
  prompt: nonEmptyString,
  directives: nonEmptyString,
};
