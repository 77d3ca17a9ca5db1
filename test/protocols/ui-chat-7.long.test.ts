/**
 * The chat of AI SDK 7, which is no part of `npm ci`.
 */
import { resolveCheckTool } from "../support/check-tools.js";
import { chatTests, type Sdk } from "./ui-chat-tests.js";

const ai: Sdk = await import(resolveCheckTool("ai-v7/dist/index.js"));

chatTests("a chat of AI SDK 7", ai);
