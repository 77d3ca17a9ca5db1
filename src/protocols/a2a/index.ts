/**
 * Runs of an agent as tasks of the Agent2Agent protocol.
 */
export { createAgentCard } from "./card.js";
export type { A2aHost, A2aSession } from "./host.js";
export { type A2aHttp, createA2aHttp, isStreamRequest } from "./http.js";
