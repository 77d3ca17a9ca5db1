/**
 * The requests of a session's model calls, made again from its log alone: no agent is needed, nor the code that it had (TRC-3).
 */
import { effects } from "../../core/machine/effects.js";
import type { State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { PawlError } from "../../errors.js";
import type { ModelRequest } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import { requestFrom } from "../effects/model-request.js";
import { checkedStore } from "../log/checked-store.js";
import { throwNoSession } from "../log/driver-errors.js";
import { followEntry, openFollower, readEntries } from "../log/read-log.js";
import { type Prompt, readPromptBlob, specificationsIn } from "../work/prompt-blobs.js";
import { requestMessages } from "../work/request-messages.js";

/**
 * Every request that the log of a session called for, one for each attempt, in order and exactly as the model got it: prompt, tools,
 * options and messages (files in results as a model got them that can be shown them). An attempt whose process died before it could be sent is there too. They are read as they are taken.
 *
 * @throws PawlError `no_session`, `store_failed`; `store_corrupt` where what the log names is missing
 */
export async function* modelRequests(
  store: Store,
  sessionId: string,
  { after = 0 }: ModelRequestsOptions = {},
): AsyncGenerator<ModelRequest, void, undefined> {
  const checked = checkedStore(store);
  const follower = await openFollower(checked, sessionId, after);
  const textsOf = createTexts(sessionId, store);
  let last = wantedModelCall(follower.state)?.key;
  for await (const entry of readEntries(checked, sessionId, follower.state.seq)) {
    followEntry(follower, entry);
    const effect = wantedModelCall(follower.state);
    if (effect === undefined || effect.key === last) continue;
    last = effect.key;
    const { state, transcript } = follower;
    const messages = await requestMessages(transcript, {}, { sessionId, store });
    const texts = await textsOf(transcript);
    const request = requestFrom({ sessionId, effect, state, transcript, messages, texts });
    // The transcript grows while others look at what they were given.
    yield { ...request, messages: [...request.messages] };
  }
  if (follower.state.seq === 0) throwNoSession(sessionId);
}

export type ModelRequestsOptions = {
  /** Only requests that entries after this one called for. 0 unless given: all. Leave the loop when there is enough. */
  readonly after?: number;
};

function wantedModelCall(state: State) {
  return effects(state).find((effect) => effect.type === "call_model");
}

/** A session's texts change seldom: each is read once. */
function createTexts(sessionId: string, store: Pick<Store, "getBlob">) {
  const known = new Map<string, string>();

  async function textOf(hash: string): Promise<string> {
    const text = known.get(hash) ?? (await readPromptBlob(sessionId, hash, store));
    if (text === null)
      throw new PawlError(
        "store_corrupt",
        `The blob ${hash}, which the log of session ${sessionId} names, is missing in the store. Restore it from a copy.`,
      );
    known.set(hash, text);
    return text;
  }

  return async ({ promptHash, toolsHash }: Transcript): Promise<Prompt> => ({
    systemPrompt: promptHash == null ? undefined : await textOf(promptHash),
    specifications: toolsHash == null ? [] : specificationsIn(await textOf(toolsHash)),
  });
}
