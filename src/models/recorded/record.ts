/**
 * A recorder around any model: what it was asked and what it said, exactly, in a file.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import type { ModelFailure } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import { asModel } from "../ai-sdk/adapter.js";
import type { LanguageModel } from "../ai-sdk/language-model.js";
import { encodeAttempt, hashOf } from "./recording.js";

export type RecordOptions = {
  /** The file; made where there is none, and added to where there is one. It holds prompts and answers: others cannot read it (0600). */
  readonly path: string;
};

/**
 * The same model, each of whose attempts is added to a file as a JSON line before its end is given out. `createReplayModel` answers from it.
 * Once the file cannot take a line, the model is not called any more: nothing goes on unrecorded.
 *
 * @throws PawlError `bad_configuration` where the file cannot be written
 */
export function recordModel(model: Model | LanguageModel, { path }: RecordOptions): Model {
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
  given: ModelRequest,
  signal: AbortSignal,
  add: Recording["add"],
): AsyncGenerator<ModelDelta, void, undefined> {
  // The conversation grows while the model speaks.
  const request: ModelRequest = { ...given, messages: [...given.messages] };
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
  // A model that does not look at its signal may never say another word.
  signal.addEventListener("abort", endAborted, { once: true });
  try {
    for await (const delta of model.stream(given, signal)) {
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
    // Whoever stops reading before the end has given the call up.
    endAborted();
  }
}

const aborted: ModelFailure = { kind: "cancelled", message: "The call was aborted." };
const unfinished: ModelFailure = {
  kind: "network",
  message: "The stream ended before the answer was complete.",
};

type Recording = {
  /** Adds a line. Where the file cannot take it, nothing more is asked of the model. */
  readonly add: (line: string) => void;
  /** @throws what the file could not take */
  readonly check: () => void;
};

/** Makes the file, and takes off a line that was never finished. */
function openRecording(path: string): Recording {
  let broken: PawlError | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, "a", 0o600));
    const bytes = readFileSync(path);
    const whole = bytes.lastIndexOf("\n") + 1;
    if (whole < bytes.length) truncateSync(path, whole);
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
    `The recording ${path} cannot be written (${what}). Name a file that can be.`,
    { cause },
  );
}
