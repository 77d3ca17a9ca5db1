/**
 * Copies a transcript, so that the copies grow independently. Messages are shared, because they never change.
 */
import type { CallRecord } from "./results.js";
import type { Transcript } from "./transcript-record.js";

export function copyTranscript(transcript: Transcript): Transcript {
  const { messages, seqs, origins, calls, later, run, ids, originals, shownResults, lastSent, cache } = transcript;
  return {
    ...transcript,
    messages: messages.slice(),
    seqs: seqs.slice(),
    origins: origins.slice(),
    calls: new Map([...calls].map(([callKey, call]) => [callKey, copyCallRecord(call)])),
    later: later.slice(),
    run: run === null ? null : { ...run },
    ids: new Set(ids),
    originals: originals === null ? null : new Map(originals),
    shownResults: { ...shownResults },
    lastSent: { ...lastSent },
    cache: { ...cache },
  };
}

function copyCallRecord(call: CallRecord): CallRecord {
  const { steps } = call;
  if (steps === undefined) return { ...call };
  return { ...call, steps: { done: steps.done.slice(), started: steps.started.slice(), asked: steps.asked.slice() } };
}
