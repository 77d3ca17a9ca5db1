/**
 * Wraps a model, and records its requests and answers in a file.
 */

import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { checkOptions, type OptionTable, someText } from "../../check-options.js";
import type { ModelFailure } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import { asModel } from "../ai-sdk/adapter.js";
import type { LanguageModel } from "../ai-sdk/language-model.js";
import { encodeAttempt, hashOf } from "./recording.js";

/** Where a recording goes, and what is kept out of it. */
export type RecordOptions = {
  /**
   * The file. It is created if it does not exist, with mode 0600, because it contains prompts and answers. Attempts are
   * appended to an existing file.
   */
  readonly path: string;
};

const optionRules: OptionTable<RecordOptions> = { path: someText };

/**
 * Returns a model that records each attempt of `model`, as a JSON line, before it yields the attempt's last delta.
 * `createReplayModel` answers from the file. If a line cannot be written, further calls throw, so that no call goes
 * unrecorded.
 *
 * @throws PawlError `bad_configuration` if the file cannot be written
 *
 * @example
 * ```ts
 * import { recordModel } from "pawl/models";
 *
 * const agent = createAgent({ model: recordModel(model, { path: "rent.jsonl" }), tools });
 * await agent.run("Pay the rent.");
 * ```
 */
export function recordModel(model: Model | LanguageModel, options: RecordOptions): Model {
  checkOptions("recordModel()", optionRules, options, { otherNames: { file: "path" } });
  const { path } = options;
  const recorded = asModel(model);
  const { add, check } = openRecording(path);
  return {
    id: recorded.id,
    ...(recorded.contextWindow === undefined ? {} : { contextWindow: recorded.contextWindow }),
    stream(request, signal) {
      check();
      return record(recorded, request, signal, add);
    },
  };
}

async function* record(
  model: Model,
  sent: ModelRequest,
  signal: AbortSignal,
  add: Recording["add"],
): AsyncGenerator<ModelDelta, void, undefined> {
  // A copy, because the array of messages grows when the call is over.
  const request: ModelRequest = { ...sent, messages: [...sent.messages] };
  const deltas: DeltaBody[] = [];
  let isWritten = false;
  const write = (last: DeltaBody) => {
    if (isWritten) return;
    isWritten = true;
    add(
      encodeAttempt(
        { model: model.id, request, isWhole: true, deltas: [...deltas, last] },
        hashOf(request),
        Date.now(),
      ),
    );
  };
  const end = (failure: ModelFailure) => write({ kind: "error", failure });
  const endAborted = () => end(aborted);
  // A model that ignores its signal may never yield again.
  signal.addEventListener("abort", endAborted, { once: true });
  try {
    for await (const delta of model.stream(sent, signal)) {
      if (delta.kind === "done" || delta.kind === "error") write(delta);
      else deltas.push(delta);
      yield delta;
    }
    end(unfinished);
  } catch (error) {
    end({ kind: "provider", message: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    signal.removeEventListener("abort", endAborted);
    // A consumer that stops reading before the end has given up the call.
    endAborted();
  }
}

const aborted: ModelFailure = { kind: "cancelled", message: "The call was aborted." };
const unfinished: ModelFailure = {
  kind: "network",
  message: "The stream ended before the answer was complete.",
};

type Recording = {
  /** Appends a line. If that fails, `check` throws from then on. */
  readonly add: (line: string) => void;
  /** @throws PawlError if a line could not be written */
  readonly check: () => void;
};

/** Creates the file if needed, and removes an unfinished last line. */
function openRecording(path: string): Recording {
  let broken: PawlError | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, "a", 0o600));
    const bytes = readFileSync(path);
    const completeBytes = bytes.lastIndexOf("\n") + 1;
    if (completeBytes < bytes.length) truncateSync(path, completeBytes);
  } catch (cause) {
    throw notWritable(path, cause);
  }
  return {
    add(line) {
      try {
        appendFileSync(path, line);
      } catch (cause) {
        broken ??= notWritable(path, cause);
      }
    },
    check() {
      if (broken !== undefined) throw broken;
    },
  };
}

function notWritable(path: string, cause: unknown): PawlError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new PawlError(
    "bad_configuration",
    `The recording ${path} cannot be written (${what}). Name a file that this process may write.`,
    { cause },
  );
}
