/**
 * Wraps a model and records its requests and answers in a file.
 */

import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import { getErrorMessage } from "../../core/data/error-message.js";
import type { ModelFailure } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import { asModel } from "../ai-sdk/adapter.js";
import type { LanguageModel } from "../ai-sdk/language-model.js";
import { encodeAttempt, hashRequest } from "./recording.js";

/** The destination of a recording. */
export type RecordOptions = {
  /**
   * The file. It is created if it does not exist, with mode 0600, because it contains prompts and answers. Attempts are
   * appended to an existing file.
   */
  readonly path: string;
};

const optionRules: OptionTable<RecordOptions> = { path: nonEmptyString };

/**
 * Returns a model that records each attempt of `model` as a JSON line, before it yields the attempt's last delta.
 * `createReplayModel` answers from the file. If a line cannot be written, further calls throw, so that no call goes unrecorded.
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
      return recordAttempt(recorded, request, signal, add);
    },
  };
}

async function* recordAttempt(
  model: Model,
  sent: ModelRequest,
  signal: AbortSignal,
  add: RecordingFile["add"],
): AsyncGenerator<ModelDelta, void, undefined> {
  // A copy, because the array of messages grows after the call.
  const request: ModelRequest = { ...sent, messages: [...sent.messages] };
  const deltas: DeltaBody[] = [];
  let isWritten = false;
  const write = (last: DeltaBody) => {
    if (isWritten) return;
    isWritten = true;
    add(
      encodeAttempt(
        { model: model.id, request, isWhole: true, deltas: [...deltas, last] },
        hashRequest(request),
        Date.now(),
      ),
    );
  };
  const recordFailure = (failure: ModelFailure) => write({ kind: "error", failure });
  const recordAborted = () => recordFailure(abortedFailure);
  // A model that ignores its signal may never yield again.
  signal.addEventListener("abort", recordAborted, { once: true });
  try {
    for await (const delta of model.stream(sent, signal)) {
      if (delta.kind === "done" || delta.kind === "error") write(delta);
      else deltas.push(delta);
      yield delta;
    }
    recordFailure(unfinishedFailure);
  } catch (error) {
    recordFailure({ kind: "provider", message: getErrorMessage(error) });
    throw error;
  } finally {
    signal.removeEventListener("abort", recordAborted);
    // A consumer that stops reading early has abandoned the call. No-op if the attempt was already recorded.
    recordAborted();
  }
}

const abortedFailure: ModelFailure = { kind: "cancelled", message: "The call was aborted." };
const unfinishedFailure: ModelFailure = {
  kind: "network",
  message: "The stream ended before the answer was complete.",
};

type RecordingFile = {
  /** Appends a line. If that fails, `check` throws from then on. */
  readonly add: (line: string) => void;
  /** @throws PawlError if a line could not be written */
  readonly check: () => void;
};

/** Creates the file if needed, and removes an unfinished last line. */
function openRecording(path: string): RecordingFile {
  let writeError: PawlError | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, "a", 0o600));
    const bytes = readFileSync(path);
    const completeBytes = bytes.lastIndexOf("\n") + 1;
    if (completeBytes < bytes.length) truncateSync(path, completeBytes);
  } catch (cause) {
    throw notWritableError(path, cause);
  }
  return {
    add(line) {
      try {
        appendFileSync(path, line);
      } catch (cause) {
        writeError ??= notWritableError(path, cause);
      }
    },
    check() {
      if (writeError !== undefined) throw writeError;
    },
  };
}

function notWritableError(path: string, cause: unknown): PawlError {
  const reason = getErrorMessage(cause);
  return new PawlError(
    "bad_configuration",
    `The recording ${path} cannot be written (${reason}). Use a path that this process can write to.`,
    { cause },
  );
}
