/**
 * What changes in a transcript when another agent takes the session over.
 */
import type { RunOptions } from "../machine/event.js";
import type { Transcript } from "./transcript-record.js";

/** From here on another agent goes on: with its own prompt, tools and hooks, and with a provider that has counted nothing. */
export function handOver(transcript: Transcript): void {
  transcript.countedTokens = null;
  transcript.sources = null;
  const { run } = transcript;
  if (run === null) return;
  endOverrides(run);
  // The hooks of the agent that had the session were told of its steps and compactions, if it has hooks.
  run.leftSteps = run.steps;
  run.compacted = null;
}

/** What a run overrides belongs to the agent that it began with; the shape of its answer and who can be asked do not. */
export function endOverrides(run: { options: RunOptions }): void {
  const { interactive, providerOptions, output } = run.options;
  run.options = {
    ...(interactive === undefined ? {} : { interactive }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(output === undefined ? {} : { output }),
  };
}
