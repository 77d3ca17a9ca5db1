/**
 * A recorder around any model: what it was asked and what it said, exactly, in a file.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import type { ModelFailure } from "../core/message.js";
import { PawlError } from "../errors.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest } from "../ports/model.js";
import { asModel } from "./ai-sdk.js";
import type { LanguageModel } from "./language-model.js";
import { encodeAttempt, hashOf } from "./recording.js";

export type RecordOptions = {
  /** The file; made where there is none, and added to where there is one. It holds prompts and answers: others cannot read it (0600). */
  readonly path: string;
};

/**
 * The same model, each of whose attempts is added to a file as a JSON line before its end is given out. `createReplayModel` answers from it.
 * What the file cannot take ends the attempt with a failure: nothing goes on unrecorded.
 *
 * @throws PawlError `bad_configuration` where the file cannot be written
 */
export function recordModel(model: Model | LanguageModel, { path }: RecordOptions): Model {
  const recorded = asModel(model);
  openRecording(path);
  return {
    id: recorded.id,
    ...(recorded.contextWindow === undefined ? {} : { contextWindow: recorded.contextWindow }),
    stream: (request, signal) => record(recorded, request, signal, path),
  };
}

async function* record(
  model: Model,
  given: ModelRequest,
  signal: AbortSignal,
  path: string,
): AsyncGenerator<ModelDelta, void, undefined> {
  // The conversation grows while the model speaks.
  const request: ModelRequest = { ...given, messages: [...given.messages] };
  const deltas: DeltaBody[] = [];
  let isWritten = false;
  const write = (last: DeltaBody) => {
    isWritten = true;
    deltas.push(last);
    appendFileSync(
      path,
      encodeAttempt({ model: model.id, request, isWhole: true, deltas }, hashOf(request), Date.now()),
    );
  };
  const end = (failure: ModelFailure) => {
    if (!isWritten) write({ kind: "error", failure });
  };
  try {
    for await (const delta of model.stream(given, signal)) {
      if (delta.kind !== "done" && delta.kind !== "error") deltas.push(delta);
      else if (!isWritten) write(delta);
      yield delta;
    }
    end(signal.aborted ? aborted : unfinished);
  } catch (error) {
    end(
      signal.aborted ? aborted : { kind: "provider", message: error instanceof Error ? error.message : String(error) },
    );
    throw error;
  } finally {
    // Whoever stops reading before the end has aborted the call.
    end(aborted);
  }
}

const aborted: ModelFailure = { kind: "cancelled", message: "The call was aborted." };
const unfinished: ModelFailure = {
  kind: "network",
  message: "The stream ended before the answer was complete.",
};

/** Makes the file, and takes off a line that was never finished. */
function openRecording(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, "a", 0o600));
    const bytes = readFileSync(path);
    const whole = bytes.lastIndexOf("\n") + 1;
    if (whole < bytes.length) truncateSync(path, whole);
  } catch (cause) {
    throw new PawlError("bad_configuration", `The recording ${path} cannot be written. Name a file that can be.`, {
      cause,
    });
  }
}
