/** Work for `pawl/core` that says the same wherever it runs: scripts/check-bundles.mjs has it done here and in a browser's surroundings. */
import { appendEntry, createTranscript, initialState, publicEvents, transition } from "../../dist/core/index.js";
import { walk } from "../machine-walk.mjs";

/** Enough to meet almost every event, while the whole walk, which scripts/diagram.mjs does, takes most of a minute. */
const maxStates = 4_000;

/** Walks the machine, and plays sessions: each is a list of its events. Takes and gives JSON. */
export function work(sessionsJson) {
  const { targets, effects } = walk({ maxStates });
  return JSON.stringify({ walked: [listed(targets), listed(effects)], played: JSON.parse(sessionsJson).map(play) });
}

function play(events) {
  const transcript = createTranscript();
  const told = [];
  let state = initialState;
  for (const event of events) {
    const before = state;
    state = transition(before, event);
    const entry = { seq: state.seq, event };
    appendEntry(transcript, entry);
    told.push(...publicEvents("s", entry, transcript, before, state));
  }
  return { state, told };
}

function listed(sets) {
  return [...sets].map(([key, values]) => [key, ...values]);
}
