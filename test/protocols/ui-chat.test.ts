/**
 * The chat of AI SDK 6.
 */
import * as ai from "ai";
import { chatTests } from "./ui-chat-tests.js";

chatTests("a chat of AI SDK 6", ai);
