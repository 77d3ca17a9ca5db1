/**
 * Pawl over a model of the AI SDK's interface, which hands over a WebStream.
 */
import { createMemoryStore } from "../../../dist/index.js";
import { fromAiSdk } from "../../../dist/models/index.js";
import { languageModel } from "../language-model.mjs";
import { agentFor, runOnce } from "./pawl.mjs";

export async function open(work) {
  const agent = agentFor(work, { store: createMemoryStore(), model: fromAiSdk(languageModel(work, "v3")) });
  return { run: () => runOnce(agent, work) };
}
