/**
 * The answers of models, kept in a file: what was asked before is not paid again.
 *
 * 1. An answer is kept under the model, the SHA-256 of everything that the model was sent, the repetition, and how often
 *    the same was asked before in this trial. If any of these differs, the model is asked.
 * 2. A line is written before the loop gets the end of the answer. A process that is killed pays again at most for the answers
 *    that were under way.
 * 3. Several processes may write to one file: a line is appended with one write, a line that cannot be read is skipped, and
 *    an unfinished last line is ended before anything is appended.
 * 4. Failures are not kept.
 */
import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname } from "node:path";
import type { Usage } from "../core/data/message.js";
import { PawlError } from "../errors.js";
import { hashRequest } from "../models/recorded/recording.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest } from "../ports/model.js";
import type { CallCounts } from "./trial.js";

/** Where an answer belongs. */
export type AnswerKey = {
  /** The id of the model; with the name of the variant, if two variants have different models of one id. */
  readonly model: string;
  /** SHA-256 of what the model was sent. */
  readonly hash: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /** How often the same was asked before in the trial. */
  readonly count: number;
};

/** The answers that were kept. */
export type KeptAnswers = {
  readonly get: (key: AnswerKey) => readonly DeltaBody[] | undefined;
  readonly add: (key: AnswerKey, deltas: readonly DeltaBody[]) => void;
};

/**
 * Opens a file of kept answers. Answers are not redacted, because they are looked up by the exact request: keep the file out
 * of the repository.
 *
 * @param path the file, which may not exist yet. Without a path, answers are kept in memory.
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
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PawlError("bad_input", `The kept answers in ${path} cannot be opened (${why}). Name another file.`, {
      cause,
    });
  }
}

/** A process that was killed may have left the beginning of a line. */
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
    // An answer ends with `done`. A line with another end is not one that was kept here.
    if ((deltas as readonly DeltaBody[]).at(-1)?.kind !== "done") return undefined;
    return { model, hash, repetition, count, deltas };
  } catch {
    return undefined;
  }
}

function toText({ model, hash, repetition, count }: AnswerKey): string {
  return `${hash} ${repetition} ${count} ${model}`;
}

/** Who pays for answers. */
export type Budget = {
  /** Why no model may be asked any more; null if one may. */
  readonly refusal: () => string | null;
  /** Called as soon as an answer has come. */
  readonly pay: (model: string, usage: Usage) => void;
};

type KeepOptions = {
  readonly answers: KeptAnswers;
  readonly repetition: number;
  readonly counts: CallCounts;
  readonly budget: Budget;
  /** Distinguishes a model from another one of the same id. */
  readonly modelName: (model: Model) => string;
};

/** Answers model calls from kept answers, and asks the model for all others. */
export function createAnswerKeeper({ answers, repetition, counts, budget, modelName }: KeepOptions) {
  const askedBefore = new Map<string, number>();

  return async function* stream(
    model: Model,
    request: ModelRequest,
    own: () => AsyncIterable<ModelDelta>,
  ): AsyncGenerator<ModelDelta, void, undefined> {
    const hash = hashRequest(request);
    const name = modelName(model);
    const count = askedBefore.get(`${name} ${hash}`) ?? 0;
    askedBefore.set(`${name} ${hash}`, count + 1);
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

/** An answer is given to other trials, whose sessions and runs have other ids. */
function withoutIdentity(delta: ModelDelta): DeltaBody {
  const { sessionId: _, runId: __, modelCallIndex: ___, attempt: ____, seq: _____, ...body } = delta;
  return body;
}
