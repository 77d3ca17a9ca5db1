/**
 * A model that answers from a recording: the same request gets the same answer, deterministically and offline.
 *
 * 1. Attempts that were asked the same are given in their order, each once: a call that failed and was tried again does so again.
 * 2. A request that was not recorded is told apart from the recorded one: by its first difference, in a failure that is not retried.
 */
import { type Difference, differenceText, firstDifference } from "../../core/data/difference.js";
import type { DeltaBody, Model, ModelDelta, ModelRequest, RecordedAttempt } from "../../ports/model.js";
import { askedIn, type RecordedRequest, readRecording } from "./recording.js";

export type ReplayModelOptions = {
  /**
   * Which attempt answers a request: the next one that was asked exactly this ("exact", the default), or the next one of the
   * recording whatever it was asked ("order"); the differences are kept in both.
   */
  readonly match?: "exact" | "order";
  /** Default `replay`. */
  readonly id?: string;
};

/** Where a request first differs from the recorded one: in `systemPrompt`, `tools[1].description`, `messages[3].parts[0].text` … */
export type RequestDifference = Difference & {
  /** The step and the attempt that asked. */
  readonly modelCallIndex: number;
  readonly attempt: number;
};

export type ReplayModel = Model & {
  /** Of each request that was not recorded, the first difference. */
  readonly differences: readonly RequestDifference[];
  /** Attempts that nobody has asked for yet. */
  readonly remaining: () => number;
};

/**
 * Answers from a recording of `recordModel` (the path of its file), or from attempts: those of a session are
 * `recordedAttempts(sessionId, await store.read(sessionId))`.
 *
 * @throws PawlError `bad_input` where the file is no recording
 */
export function createReplayModel(
  recording: string | readonly RecordedAttempt[],
  options: ReplayModelOptions = {},
): ReplayModel {
  const { match = "exact", id = "replay" } = options;
  const left = [...(typeof recording === "string" ? readRecording(recording) : recording)];
  const differences: RequestDifference[] = [];

  function answerTo(request: ModelRequest): readonly DeltaBody[] {
    const asked = askedIn(request);
    const exact = left.findIndex((attempt) => differenceOf(attempt, asked) === undefined);
    const place = match === "order" ? 0 : exact;
    const found = left[place];
    if (found !== undefined) left.splice(place, 1);
    const difference = found === undefined ? nearest(asked) : differenceOf(found, asked);
    const { modelCallIndex, attempt } = request;
    if (difference !== undefined) differences.push({ modelCallIndex, attempt, ...difference });
    return found?.deltas ?? [refusalOf(request, difference)];
  }

  /** The recorded attempt that goes along the furthest is the one that was meant. */
  function nearest(asked: RecordedRequest): Difference | undefined {
    let furthest: Difference | undefined;
    for (const attempt of left) {
      const difference = differenceOf(attempt, asked);
      if (difference !== undefined && (furthest === undefined || depthOf(difference) > depthOf(furthest)))
        furthest = difference;
    }
    return furthest;
  }

  return {
    id,
    differences,
    remaining: () => left.length,
    async *stream(request, signal): AsyncGenerator<ModelDelta, void, undefined> {
      for (const delta of answerTo(request)) {
        if (signal.aborted) return;
        yield delta;
      }
    },
  };
}

/** The order in which a request is looked at: what is sent first comes first. */
function differenceOf({ request, isWhole }: RecordedAttempt, asked: RecordedRequest): Difference | undefined {
  if (!isWhole) return firstDifference({ messages: request.messages }, { messages: asked.messages });
  const { sessionId: _, runId: __, modelCallIndex: ___, attempt: ____, ...recorded } = request;
  return firstDifference(inOrder(recorded), inOrder(asked));
}

function inOrder({ systemPrompt, tools, messages, ...others }: Partial<RecordedRequest>): object {
  return { systemPrompt, tools, messages, ...others };
}

/** How far two requests go along: a difference in the system prompt is told before one in the tools, that before one in a message. */
function depthOf({ path }: Difference): number {
  const message = /^messages\[(\d+)\]/.exec(path);
  if (message !== null) return 2 + Number(message[1]);
  return path.startsWith("systemPrompt") ? 0 : path.startsWith("tools") ? 1 : Number.POSITIVE_INFINITY;
}

function refusalOf({ modelCallIndex, attempt }: ModelRequest, difference: Difference | undefined): DeltaBody {
  const what =
    difference === undefined
      ? "the recording has no attempt left"
      : `it differs from what was recorded in ${differenceText(difference)}`;
  const message = `The request of step ${modelCallIndex}, attempt ${attempt} was not recorded: ${what}.`;
  return { kind: "error", failure: { kind: "invalid_request", code: "not_recorded", message } };
}
