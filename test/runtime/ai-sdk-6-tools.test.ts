import { createAnthropic } from "@ai-sdk/anthropic";
import { jsonSchema, tool } from "ai";
import { toolTests } from "./ai-sdk-tool-tests.js";

toolTests("a tool of AI SDK 6", { tool, jsonSchema }, (baseURL) =>
  createAnthropic({ baseURL, apiKey: "sk-test" })("claude-sonnet-5"),
);
