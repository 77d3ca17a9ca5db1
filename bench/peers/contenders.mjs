/**
 * The contenders, their workloads and packages. `engines`: the oldest Node that the package claims to support.
 */
export const contenders = [
  { name: "floor", label: "floor", engines: 20, on: ["W1", "W2", "W3", "W4-tool"] },
  { name: "pawl", label: "Pawl", engines: 20, package: "pawl", on: ["W1", "W2", "W3", "W4-tool", "W4-person", "W6"] },
  { name: "pawl-ai-sdk", label: "Pawl, AI SDK model", engines: 20, on: ["W1", "W2"] },
  {
    name: "pi",
    label: "pi",
    engines: 20,
    package: "@mariozechner/pi-agent-core",
    on: ["W1", "W2", "W3", "W4-tool", "W4-person", "W6"],
  },
  { name: "ai-6", label: "ai 6", engines: 18, package: "ai-6", on: ["W1", "W2", "W3", "W4-tool", "W4-person", "W6"] },
  { name: "ai-7", label: "ai 7", engines: 22, package: "ai-7", on: ["W1", "W2", "W3", "W4-tool", "W4-person", "W6"] },
  {
    name: "openai-agents",
    label: "OpenAI Agents",
    engines: 22,
    package: "@openai/agents",
    on: ["W1", "W2", "W3", "W4-tool", "W4-person", "W6"],
  },
  {
    name: "langgraph",
    label: "LangGraph",
    engines: 20,
    package: "@langchain/langgraph",
    with: ["@langchain/core"],
    on: ["W1", "W2", "W3", "W4-tool", "W4-person", "W6"],
  },
  {
    name: "mastra",
    label: "Mastra",
    engines: 22,
    package: "@mastra/core",
    entry: "@mastra/core/agent",
    on: ["W1", "W2", "W3", "W4-tool", "W6"],
  },
  {
    name: "strands",
    label: "Strands",
    engines: 22,
    package: "@strands-agents/sdk",
    on: ["W1", "W2", "W3", "W4-tool", "W6"],
  },
  { name: "floor-sqlite", label: "floor + bare SQLite", engines: 20, on: ["W5", "W5-sessions"] },
  { name: "pawl-sqlite", label: "Pawl on SQLite", engines: 20, on: ["W5", "W5-sessions"] },
  { name: "langgraph-sqlite", label: "LangGraph, SQLite checkpointer", engines: 20, on: ["W5"] },
  // Its SDK names no Node version, but calls a function that came with Node 22.
  { name: "restate", label: "Restate", engines: 22, on: ["W5", "W5-sessions"] },
];
