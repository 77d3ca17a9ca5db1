/**
 * `pawl/tools/a2a`: a remote agent that speaks the Agent2Agent protocol, as a tool.
 */
export { connectA2aAgent } from "./connect.js";
export type { A2aAgentOptions, A2aHeaders, A2aInput } from "./options.js";
