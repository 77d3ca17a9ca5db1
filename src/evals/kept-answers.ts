/**
 * Models' answers, kept in a file, so that the same request is not paid for twice.
 *
 * 1. The key of an answer is the model, the SHA-256 of the whole request, the repetition, and how often the trial has sent the
 *    same request before. If any of these differs, the model is asked.
 * 2. A line is written before the loop gets the end of the answer. After a kill, at most the answers that were in flight are paid
 *    for again.
 * 3. Several processes may write to the same file: each line is appended with one write, an unreadable line is skipped, and an
 *    unfinished last line is terminated before anything is appended.
 * 4. Failures are not kept.
 * 5. Answers of scripted models are neither kept nor paid for: a script keeps its id when it changes.
 */

import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { getErrorMessage } from "../core/data/error-message.js";
import type { Usage } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import { hashRequest } from "../models/recorded/recording.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest } from "../ports/model.js";
import type { CallCounts } from "./trial.js";

/** The key of a kept answer. */
export type AnswerKey = {
  /** The id of the model; with the variant's name, if two variants use different models with the same id. */
  readonly model: string;
  /** SHA-256 of the request. */
  readonly hash: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /** How often the trial has sent the same request before. */
  readonly count: number;
};

/** Kept answers. */
export type KeptAnswers = {
  /** The kept answer; undefined if there is none. */
  readonly get: (key: AnswerKey) => readonly DeltaBody[] | undefined;
  /** Keeps an answer. */
  readonly add: (key: AnswerKey, deltas: readonly DeltaBody[]) => void;
};

/**
 * Opens a file of kept answers. The answers are not redacted, so keep the file out of the repository.
 *
 * @param path the file; created if it does not exist. Without a path, answers are kept in memory.
 * @throws PawlError `bad_input` if the file cannot be read or written
 */
export function openAnswers(path?: string): KeptAnswers {
  const known = new Map<string, readonly DeltaBody[]>();
  if (path !== undefined) readLines(path, known);
  return {
    get: (key) => known.get(toText(key)),
    add(key, deltas) {
      known.set(toText(key), deltas);
      if (path !== undefined) appendFileSync(path, `${JSON.stringify({ ...key, deltas })}\n`, { mode: 0o600 });
    },
  };
}

function readLines(path: string, known: Map<string, readonly DeltaBody[]>): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    endLastLine(path);
    for (const line of readFileSync(path, "utf8").split("\n")) {
      const answer = parseLine(line);
      if (answer !== undefined) known.set(toText(answer), answer.deltas);
    }
  } catch (cause) {
    const why = getErrorMessage(cause);
    throw new PawlError("bad_input", `The kept answers in ${path} cannot be opened (${why}). Use another file.`, {
      cause,
    });
  }
}

/** A killed process may have left an incomplete line. */
function endLastLine(path: string): void {
  const file = openSync(path, "a+", 0o600);
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    if (size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a) appendFileSync(file, "\n");
  } finally {
    closeSync(file);
  }
}

type Line = AnswerKey & { readonly deltas: readonly DeltaBody[] };

function parseLine(line: string): Line | undefined {
  if (line === "") return undefined;
  try {
    const read = JSON.parse(line) as Partial<Line> | null;
    const { model, hash, repetition, count, deltas } = read ?? {};
    if (typeof model !== "string" || typeof hash !== "string" || !Array.isArray(deltas)) return undefined;
    if (typeof repetition !== "number" || typeof count !== "number") return undefined;
    // Only complete answers are kept, and a complete answer ends with `done`.
    if ((deltas as readonly DeltaBody[]).at(-1)?.kind !== "done") return undefined;
    return { model, hash, repetition, count, deltas };
  } catch {
    return undefined;
  }
}

function toText({ model, hash, repetition, count }: AnswerKey): string {
  return `${hash} ${repetition} ${count} ${model}`;
}

/** Limits what may be spent on answers. */
export type Budget = {
  /** Why no more models may be asked; null if the budget is not spent. */
  readonly refusal: () => string | null;
  /** Called as soon as an answer has arrived. */
  readonly pay: (model: string, usage: Usage) => void;
};

type KeepOptions = {
  readonly answers: KeptAnswers;
  readonly repetition: number;
  readonly counts: CallCounts;
  readonly budget: Budget;
  /** Distinguishes models with the same id. */
  readonly modelName: (model: Model) => string;
};

/** Answers model calls from the kept answers, and asks the model for the rest. */
export function createAnswerKeeper({ answers, repetition, counts, budget, modelName }: KeepOptions) {
  const askedBefore = new Map<string, number>();
  /** The attempts of one call share its number: the kept answer belongs to the call. */
  const countOfCall = new Map<string, number>();

  return async function* stream(
    model: Model,
    request: ModelRequest,
    own: () => AsyncIterable<ModelDelta>,
  ): AsyncGenerator<ModelDelta, void, undefined> {
    if (model.isScripted === true) {
      counts.asked += 1;
      yield* own();
      return;
    }
    const hash = hashRequest(request);
    const name = modelName(model);
    const question = `${name} ${hash}`;
    const call = `${question} ${request.sessionId}/${request.runId}/${request.modelCallIndex}`;
    const count = countOfCall.get(call) ?? askedBefore.get(question) ?? 0;
    if (!countOfCall.has(call)) askedBefore.set(question, count + 1);
    countOfCall.set(call, count);
    const key = { model: name, hash, repetition, count };
    const kept = answers.get(key);
    if (kept !== undefined) {
      counts.kept += 1;
      yield* kept;
      return;
    }
    const refusal = budget.refusal();
    if (refusal !== null) {
      counts.isRefused = true;
      yield { kind: "error", failure: { kind: "invalid_request", code: "budget_spent", message: refusal } };
      return;
    }
    counts.asked += 1;
    const deltas: DeltaBody[] = [];
    for await (const delta of own()) {
      deltas.push(withoutIdentity(delta));
      if (delta.kind === "done") {
        budget.pay(model.id, delta.usage);
        answers.add(key, deltas);
      } else if (delta.kind === "error" && delta.usage !== undefined) budget.pay(model.id, delta.usage);
      yield delta;
    }
  };
}

/** Kept answers are reused in other trials, whose sessions and runs have other ids. */
function withoutIdentity(delta: ModelDelta): DeltaBody {
  const { sessionId: _, runId: __, modelCallIndex: ___, attempt: ____, seq: _____, ...body } = delta;
  return body;
}
