/**
 * Tools of AI SDK 7, which is no part of `npm ci`.
 */
import { createAnthropic } from "anthropic-v4";
import { checkTool } from "../support/check-tools.js";
import { type Sdk, toolTests } from "./ai-sdk-tool-tests.js";

const { tool, jsonSchema }: Sdk = await import(checkTool("ai-v7/dist/index.js"));

toolTests("a tool of AI SDK 7", { tool, jsonSchema }, (baseURL) =>
  createAnthropic({ baseURL, apiKey: "sk-test" })("claude-sonnet-5"),
);
