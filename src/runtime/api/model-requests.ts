/**
 * Rebuilds the requests of a session's model calls from its log alone, without the agent or its code (TRC-3).
 */

import { deepFreeze } from "../../core/data/freeze.js";
import type { Message } from "../../core/data/message.js";
import { effects } from "../../core/machine/effects.js";
import type { EventOf } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { appendEntry, type Transcript } from "../../core/transcript/transcript.js";
import { PawlError } from "../../errors.js";
import type { ModelRequest } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import { checkSessionId } from "../agent/check-run-options.js";
import { createRequest } from "../effects/model-request.js";
import { createFollowUpRequest, createSummaryRequest } from "../effects/summarize.js";
import { createCheckedStore } from "../log/checked-store.js";
import { throwNoSession } from "../log/driver-errors.js";
import { readEntries } from "../log/read-entries.js";
import { openFollower } from "../log/read-log.js";
import { findRowBeforeStep, findRun } from "../log/step-rows.js";
import { resolveList } from "../work/message-lists.js";
import {
  createPromptBlobs,
  type Prompt,
  type PromptBlobs,
  parseSpecifications,
  readPromptBlob,
} from "../work/prompt-blobs.js";
import { buildRequestMessages } from "../work/request-messages.js";
import { checkCall, type ModelRequestOptions } from "./check-call-options.js";

/**
 * The requests of all attempts in the log of a session, in order, each exactly as it was sent to the model: prompt, tools, settings,
 * options and messages. Files in results and deferred tools appear as for a model that accepts them. An attempt is included even if the
 * process died before it sent the request. The requests of a compaction have `purpose: "compaction"`; those of a compaction that a crash
 * interrupted are not in the log. The log is read while the requests are consumed.
 *
 * @throws PawlError `no_session`, `store_failed`; `store_corrupt` if the store has lost a blob that the log refers to
 */
export async function* modelRequests(
  store: Store,
  sessionId: string,
  options: ModelRequestsOptions = {},
): AsyncGenerator<ModelRequest, void, undefined> {
  checkCall.modelRequests(options);
  checkSessionId(sessionId);
  const { after = 0 } = options;
  const checked = createCheckedStore(store);
  const follower = await openFollower(checked, sessionId, after);
  const texts = createTextReader(sessionId, store);
  const readList = createListReader(sessionId, store);
  let last = findModelCall(follower.state)?.key;
  for await (const entry of readEntries(checked, sessionId, follower.state.seq)) {
    if (entry.event.type === "compacted")
      yield* rebuildSummaryRequests(entry.event, follower, { sessionId, store, texts });
    follower.state = transition(follower.state, entry.event);
    appendEntry(follower.transcript, entry);
    const effect = findModelCall(follower.state);
    if (effect === undefined || effect.key === last) continue;
    last = effect.key;
    const { state, transcript } = follower;
    const prompt = await texts.promptOf(transcript);
    const messages = await buildRequestMessages(transcript, await readList(transcript), {}, { sessionId, store });
    yield createRequest({ sessionId, effect, state, transcript, messages, texts: prompt });
  }
  if (follower.state.seq === 0) throwNoSession(sessionId);
}

/** Which requests of a session to return. */
export type ModelRequestsOptions = {
  /** Only requests of attempts after this entry. Default: 0, all of them. */
  readonly after?: number;
};

/** Reads the list that was sent instead of the conversation; null if the conversation was sent. */
function createListReader(sessionId: string, store: PromptBlobs["store"]) {
  const texts = createPromptBlobs(sessionId, store);
  return async ({ sentList }: Transcript): Promise<readonly Message[] | null> => {
    if (sentList === null) return null;
    const found = await resolveList(sentList, texts);
    if (found.type === "found") return found.messages;
    throw new PawlError("store_corrupt", `${found.message} in session ${sessionId}. Restore them from a backup.`);
  };
}

/** A request, and the request of the previous step. */
export type RequestOfStep = {
  /** The request that was sent to the model. */
  readonly request: ModelRequest;
  /** The request of the previous call's last attempt; null for the first call. */
  readonly before: ModelRequest | null;
};

/**
 * The request of one model call, as `modelRequests` returns it, and the previous request in the run. Null if there is no such request. The
 * cost does not depend on the position of the call in the run. For runs before the last one, the start is looked up in the log.
 * @throws PawlError `store_failed`, `store_corrupt`
 */
export async function modelRequest(
  store: Store,
  sessionId: string,
  options: ModelRequestOptions,
): Promise<RequestOfStep | null> {
  checkCall.modelRequest(options);
  checkSessionId(sessionId);
  const { runId, modelCallIndex, attempt } = options;
  const checked = createCheckedStore(store);
  const runBounds = await findRun(checked, sessionId, runId);
  if (runBounds === null) return null;
  const after = await findRowBeforeStep(checked, sessionId, runBounds, modelCallIndex - 1, runBounds.last);
  let before: ModelRequest | null = null;
  let found: ModelRequest | null = null;
  for await (const request of modelRequests(store, sessionId, { after })) {
    if (request.purpose === "compaction") continue;
    const isOfRun = request.runId === runId;
    if (found !== null && (!isOfRun || request.modelCallIndex > modelCallIndex)) break;
    if (!isOfRun) continue;
    const requestCopy = { ...request, messages: [...request.messages] };
    if (request.modelCallIndex < modelCallIndex) before = requestCopy;
    else if (request.modelCallIndex === modelCallIndex && (attempt === undefined || request.attempt === attempt))
      found = requestCopy;
    if (found !== null && attempt !== undefined) break;
  }
  return found === null ? null : deepFreeze({ request: found, before });
}

function findModelCall(state: State) {
  return effects(state).find((effect) => effect.type === "call_model");
}

async function readTextOrThrow(sessionId: string, hash: string, store: Pick<Store, "getBlob">): Promise<string> {
  const text = await readPromptBlob(sessionId, hash, store);
  if (text !== null) return text;
  throw new PawlError(
    "store_corrupt",
    `The blob ${hash}, which the log of session ${sessionId} refers to, is missing from the store. Restore it from a backup.`,
  );
}

/** Caches texts, because the prompt and the tools of a session seldom change. */
function createTextReader(sessionId: string, store: Pick<Store, "getBlob">) {
  const known = new Map<string, string>();

  async function textOf(hash: string): Promise<string> {
    const text = known.get(hash) ?? (await readTextOrThrow(sessionId, hash, store));
    known.set(hash, text);
    return text;
  }

  const promptOf = async ({ promptHash, toolsHash }: Transcript): Promise<Prompt> => ({
    systemPrompt: promptHash == null ? undefined : await textOf(promptHash),
    specifications: toolsHash == null ? [] : parseSpecifications(await textOf(toolsHash)),
  });
  /** Not cached: for strings that are used once. */
  const readText = (hash: string) => readTextOrThrow(sessionId, hash, store);
  return { promptOf, textOf, readText };
}

type RequestReader = {
  readonly sessionId: string;
  readonly store: Store;
  readonly texts: ReturnType<typeof createTextReader>;
};

/** @param before the state and the transcript before the compaction */
async function* rebuildSummaryRequests(
  { requests = [] }: EventOf<"compacted">,
  before: { readonly state: State; readonly transcript: Transcript },
  { sessionId, store, texts }: RequestReader,
): AsyncGenerator<ModelRequest, void, undefined> {
  const { state, transcript } = before;
  // In a session at rest, the compaction's requests are recorded under the last run.
  const { runId, modelCallIndex } = state.status === "idle" ? { runId: "", modelCallIndex: 0 } : state;
  const identity = { sessionId, runId, modelCallIndex };

  async function lastRequest(): Promise<ModelRequest> {
    const effect = { runId, modelCallIndex, attempt: 0 };
    const messages = await buildRequestMessages(transcript, null, {}, { sessionId, store });
    return createRequest({ sessionId, effect, state, transcript, messages, texts: await texts.promptOf(transcript) });
  }

  for (const { prompt, text, attempts, behind } of requests) {
    const instruction = await texts.readText(text);
    const request =
      behind === true
        ? createFollowUpRequest(identity, await lastRequest(), instruction)
        : createSummaryRequest(identity, await texts.textOf(prompt), instruction);
    for (let attempt = 0; attempt < attempts; attempt += 1) yield request;
  }
}
