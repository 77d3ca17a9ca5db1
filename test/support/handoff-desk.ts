/** Two agents that hand over to each other, with scripted models. */
import {
  type Agent,
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type Store,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";

export const toBilling: ScriptedStep = { calls: [{ name: "transfer_to_billing", input: { message: "a refund" } }] };
export const toTriage: ScriptedStep = { calls: [{ name: "transfer_to_triage" }] };

export type HandoffDeskOptions = {
  readonly store?: Store;
  readonly triage: readonly ScriptedStep[];
  readonly billing: readonly ScriptedStep[];
  readonly options?: { readonly triage?: Partial<AgentOptions>; readonly billing?: Partial<AgentOptions> };
};

/** Two agents that hand over to each other. */
export function createHandoffDesk({ store = createMemoryStore(), triage, billing, options = {} }: HandoffDeskOptions) {
  const models = {
    triage: createScriptedModel(triage, { id: "small" }),
    billing: createScriptedModel(billing, { id: "large" }),
  };
  const refund = defineTool({
    name: "refund",
    description: "Pays an order back.",
    input: { type: "object" },
    execute: () => "refunded",
  });
  const lookUp = defineTool({
    name: "look",
    description: "Looks an order up.",
    input: { type: "object" },
    readOnly: true,
    execute: () => "an order",
  });
  const agents: { readonly triage: Agent; readonly billing: Agent } = {
    triage: createAgent({
      name: "triage",
      model: models.triage,
      systemPrompt: "Find out what is wanted.",
      tools: [lookUp],
      store,
      handoffs: [{ name: "billing", description: "Payments.", agent: () => agents.billing }],
      ...options.triage,
    }),
    billing: createAgent({
      name: "billing",
      model: models.billing,
      systemPrompt: "You pay back.",
      tools: [refund],
      store,
      handoffs: [{ name: "triage", description: "All else.", agent: () => agents.triage }],
      ...options.billing,
    }),
  };
  return { ...agents, models, store };
}
