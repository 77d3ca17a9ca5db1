/**
 * The sessions of `scenarios`, as the present code records them: with fixed times and ids, so every recording of one commit is the same.
 * They are not kept in files. What a release recorded is, in `released`, and `format.txt` lists every member that the present code writes.
 */
import { initialState } from "../../src/core/index.js";
import { record } from "./play.js";
import { lastState, type Recording } from "./recording.js";
import { scenarios } from "./sessions.js";

export type Golden = { readonly version: string; readonly name: string; readonly recording: Recording };

/** The format of a recording is that of its newest session: most never need a later one than the first. */
export const formatOfRecording = ({ sessions }: Recording): number =>
  Math.max(...sessions.map((session) => lastState(session).v ?? initialState.v));

/** Recorded once for each worker of the tests. */
export const presentRecordings = await recordPresent();

async function recordPresent(): Promise<readonly Golden[]> {
  const recorded: Golden[] = [];
  for (const scenario of scenarios) {
    const recording = await record(scenario);
    recorded.push({ version: `v${formatOfRecording(recording)}`, name: scenario.name, recording });
  }
  return recorded;
}
