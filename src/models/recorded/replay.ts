/**
 * A model that answers from a recording. The same request gets the same answer, deterministically and offline.
 *
 * 1. Each attempt answers once. Attempts with equal requests answer in their order, so a call that failed and was
 *    retried fails and is retried again.
 * 2. A request that was not recorded fails without a retry. The failure names the first difference from a recorded
 *    request.
 */
import { checkOptions, nonEmptyString, type OptionTable, oneOf } from "../../check-options.js";
import { type Difference, differenceText, firstDifference } from "../../core/data/difference.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest, RecordedAttempt } from "../../ports/model.js";
import { type RecordedRequest, readRecording, withoutIdentity } from "./recording.js";

/** The options of `createReplayModel`. */
export type ReplayModelOptions = {
  /**
   * Which attempt answers a request. `exact`: the next attempt with an equal request. `order`: the next attempt of the
   * recording, whatever its request. Both collect `differences`. Default: `exact`.
   */
  readonly match?: "exact" | "order";
  /** Default: `replay`. */
  readonly id?: string;
};

/**
 * The first difference of a request from a recorded one, at a path such as `systemPrompt` or
 * `messages[3].parts[0].text`.
 */
export type RequestDifference = Difference & {
  /** The number of the request's step. */
  readonly modelCallIndex: number;
  readonly attempt: number;
};

/** A model that answers from a recording. */
export type ReplayModel = Model & {
  /** The first difference of each request that was not recorded. */
  readonly differences: readonly RequestDifference[];
  /** The number of attempts that have not been used yet. */
  readonly remaining: () => number;
};

const optionRules: OptionTable<ReplayModelOptions> = { match: oneOf("exact", "order"), id: nonEmptyString };

/**
 * Creates a model that answers from a recording.
 *
 * @param recording the path of a file that `recordModel` has written, or attempts; the attempts of a session are
 *   `recordedAttempts(sessionId, await store.read(sessionId))`
 * @throws PawlError `bad_input` if the file is not a valid recording
 *
 * @example
 * ```ts
 * import { createReplayModel } from "pawl/models";
 *
 * const replayed = createReplayModel("rent.jsonl"); // no network, and the same answers each time
 * const result = await createAgent({ model: replayed, tools }).run("Pay the rent.");
 * assert.deepEqual(replayed.differences, []);
 * ```
 */
export function createReplayModel(
  recording: string | readonly RecordedAttempt[],
  options: ReplayModelOptions = {},
): ReplayModel {
  checkOptions("createReplayModel()", optionRules, options);
  const { match = "exact", id = "replay" } = options;
  const unusedAttempts = [...(typeof recording === "string" ? readRecording(recording) : recording)];
  const differences: RequestDifference[] = [];

  function takeDeltas(request: ModelRequest): readonly DeltaBody[] {
    const actual = withoutIdentity(request);
    const exact = unusedAttempts.findIndex((attempt) => compareRequest(attempt, actual) === undefined);
    const index = match === "order" ? 0 : exact;
    const recorded = unusedAttempts[index];
    if (recorded !== undefined) unusedAttempts.splice(index, 1);
    const difference = recorded === undefined ? findNearestDifference(actual) : compareRequest(recorded, actual);
    const { modelCallIndex, attempt } = request;
    if (difference !== undefined) differences.push({ modelCallIndex, attempt, ...difference });
    return recorded?.deltas ?? [createNotRecordedDelta(request, difference)];
  }

  /** Compares with the recorded request that differs latest from the actual one, because it is most likely the intended one. */
  function findNearestDifference(actual: RecordedRequest): Difference | undefined {
    let furthest: Difference | undefined;
    for (const attempt of unusedAttempts) {
      const difference = compareRequest(attempt, actual);
      if (difference !== undefined && (furthest === undefined || agreementDepth(difference) > agreementDepth(furthest)))
        furthest = difference;
    }
    return furthest;
  }

  return {
    id,
    differences,
    remaining: () => unusedAttempts.length,
    async *stream(request, signal): AsyncGenerator<ModelDelta, void, undefined> {
      for (const delta of takeDeltas(request)) {
        if (signal.aborted) return;
        yield delta;
      }
    },
  };
}

function compareRequest({ request, isWhole }: RecordedAttempt, actual: RecordedRequest): Difference | undefined {
  if (!isWhole) return firstDifference({ messages: request.messages }, { messages: actual.messages });
  const { sessionId: _, runId: __, modelCallIndex: ___, attempt: ____, purpose: _____, ...recorded } = request;
  return firstDifference(orderMembers(recorded), orderMembers(actual));
}

/** Members are compared in the order in which a provider reads them. */
function orderMembers({ systemPrompt, tools, messages, ...others }: Partial<RecordedRequest>): object {
  return { systemPrompt, tools, messages, ...others };
}

/** Ranks how late two requests differ. The system prompt comes first, then the tools, then the messages. */
function agreementDepth({ path }: Difference): number {
  const message = /^messages\[(\d+)\]/.exec(path);
  if (message !== null) return 2 + Number(message[1]);
  return path.startsWith("systemPrompt") ? 0 : path.startsWith("tools") ? 1 : Number.POSITIVE_INFINITY;
}

function createNotRecordedDelta(
  { modelCallIndex, attempt }: ModelRequest,
  difference: Difference | undefined,
): DeltaBody {
  const reason =
    difference === undefined
      ? "the recording has no attempt left"
      : `it differs from the recording in ${differenceText(difference)}`;
  const message = `The request of step ${modelCallIndex}, attempt ${attempt} was not recorded: ${reason}. If the change is intended, record the run again.`;
  return { kind: "error", failure: { kind: "invalid_request", code: "not_recorded", message } };
}
